"""Arguments travel through their annotations and come back equal and of the same type, or are refused (F3)."""

from __future__ import annotations

import math
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from wow_ray import CannotTravelError, DefinitionError
from wow_ray.policy.durable_fit import Unfit
from wow_ray.retryable.arguments import Arguments, return_hint
from wow_ray.retryable.codec import Codec
from wow_ray.retryable.sameness import same
from wow_ray.retryable.target import read_target

T = TypeVar("T")


class Color(Enum):
    """An enum of texts."""

    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    """An enum of numbers."""

    LOW = 1


class Tag(BaseModel):
    """A model."""

    key: str
    count: int = 0


class LoudTag(Tag):
    """A subclass of it."""

    loud: bool = True


class Page(BaseModel, Generic[T]):
    """A generic model."""

    items: list[T]


class Strict(BaseModel):
    """A model that refuses what it does not know."""

    model_config = ConfigDict(extra="forbid")
    x: int


class Lenient(BaseModel):
    """A model that keeps what it does not know."""

    model_config = ConfigDict(extra="allow")


@dataclass
class Line:
    """A dataclass, with a part of its own."""

    sku: str
    price: Decimal
    tags: tuple[Tag, ...] = ()


class Point(NamedTuple):
    """A named tuple."""

    x: int
    y: int


class Options(TypedDict, total=False):
    """A typed dictionary."""

    when: datetime


class Cat(BaseModel):
    """A member of a union with a discriminator."""

    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    """The other one."""

    kind: Literal["dog"] = "dog"


ZONES = [UTC, timezone(timedelta(hours=5, minutes=30)), None]
DATETIMES = st.builds(
    lambda at, zone: at.replace(tzinfo=zone),
    st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 28)),  # noqa: DTZ001
    st.sampled_from(ZONES),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)
TAGS = st.builds(Tag, key=TEXT, count=st.integers())
PLAIN: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers()),
    (float, st.floats()),
    (bool, st.booleans()),
    (str, TEXT),
    (bytes, st.binary()),
    (Decimal, DECIMALS),
    (uuid.UUID, st.uuids()),
    (datetime, DATETIMES),
    (date, st.dates()),
    (time, st.times()),
    (timedelta, st.timedeltas(min_value=timedelta(days=-90_000), max_value=timedelta(days=90_000))),
    (Color, st.sampled_from(Color)),
    (Level, st.sampled_from(Level)),
    (Tag, TAGS),
    (Line, st.builds(Line, sku=TEXT, price=DECIMALS, tags=st.lists(TAGS, max_size=2).map(tuple))),
    (Point, st.builds(Point, st.integers(), st.integers())),
    (Page[Tag], st.builds(Page[Tag], items=st.lists(TAGS, max_size=2))),
    (None, st.none()),
]
HASHABLE = [(hint, values) for hint, values in PLAIN if hint in (int, str, bytes, uuid.UUID, date, Color, bool)]
NESTED: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (list[Tag], st.lists(TAGS, max_size=3)),
    (dict[uuid.UUID, Decimal], st.dictionaries(st.uuids(), DECIMALS, max_size=3)),
    (dict[int, str], st.dictionaries(st.integers(), TEXT, max_size=3)),
    (tuple[int, str], st.tuples(st.integers(), TEXT)),
    (tuple[Decimal, ...], st.lists(DECIMALS, max_size=3).map(tuple)),
    (set[uuid.UUID], st.sets(st.uuids(), max_size=3)),
    (frozenset[int], st.frozensets(st.integers(), max_size=3)),
    (Tag | None, TAGS | st.none()),
    (int | str, st.integers() | TEXT),
    (uuid.UUID | str | bytes | None, st.uuids() | TEXT | st.uuids().map(str) | st.binary() | st.none()),
    (list[datetime | date | Decimal], st.lists(DATETIMES | st.dates() | DECIMALS, max_size=3)),
    (dict[str, list[int | Tag] | None], st.dictionaries(TEXT, st.lists(st.integers() | TAGS, max_size=2) | st.none())),
    (Sequence[int | bool], st.lists(st.integers() | st.booleans(), max_size=3)),
    (Mapping[Color, frozenset[bytes]], st.dictionaries(st.sampled_from(Color), st.frozensets(st.binary(), max_size=2))),
    (Annotated[int, Field(ge=0)] | Annotated[str, Field(max_length=5)], st.integers(0) | TEXT.map(lambda t: t[:5])),
    (Annotated[Cat | Dog, Field(discriminator="kind")], st.builds(Cat) | st.builds(Dog)),
    (
        list[set[int] | frozenset[int] | tuple[int, ...]],
        st.lists(st.sets(st.integers()) | st.frozensets(st.integers())),
    ),
]


@given(st.data())
def test_every_type_comes_back_equal_and_of_the_same_type(data: st.DataObject) -> None:
    """F3, S93: whatever value, whatever type of those named, plain and nested."""
    hint, values = data.draw(st.sampled_from(PLAIN + NESTED))
    value = data.draw(values)
    codec = Codec(hint)

    back = codec.read(codec.write(value))

    assert same(value, back)


@given(st.data())
def test_generics_of_anything_come_back(data: st.DataObject) -> None:
    """F3: containers of any plain type, as elements, keys and values."""
    (inner, values), (key, keys) = data.draw(st.sampled_from(PLAIN)), data.draw(st.sampled_from(HASHABLE))
    for hint, made in (
        (list[inner], st.lists(values, max_size=3)),  # type: ignore[valid-type]
        (dict[key, inner], st.dictionaries(keys, values, max_size=3)),  # type: ignore[valid-type]
        (tuple[inner, key], st.tuples(values, keys)),  # type: ignore[valid-type]
    ):
        value = data.draw(made)
        codec = Codec(hint)
        assert same(value, codec.read(codec.write(value)))


def test_what_decides_is_the_annotation() -> None:
    """S93: an exponent is kept, keys stay numbers, 2**63 stays a number, a text that looks like a UUID stays a text."""
    looks = str(uuid.UUID(int=7))
    assert str(Codec(Decimal).read(Codec(Decimal).write(Decimal("0.10")))) == "0.10"
    assert Codec(dict[int, int]).read(Codec(dict[int, int]).write({1: 2**63})) == {1: 2**63}
    either = Codec(uuid.UUID | str)
    assert type(either.read(either.write(looks))) is str
    assert type(either.read(either.write(uuid.UUID(int=7)))) is uuid.UUID


def test_what_is_no_number_travels(recwarn: pytest.WarningsRecorder) -> None:
    """S73: NaN and the infinities come back; inside a model that writes them as null they are refused."""

    class Measure(BaseModel):
        value: float

    codec = Codec(list[float])
    nan, inf = codec.read(codec.write([math.nan, -math.inf]))
    assert math.isnan(nan)
    assert inf == -math.inf
    with pytest.raises(CannotTravelError):
        Codec(Measure).write(Measure(value=math.nan))
    assert not recwarn


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Tag, LoudTag(key="k")),  # a subclass would come back as its base
        (int, True),
        (str, Color.RED),
        (float, 1),
        (Sequence[int], (1, 2)),
        (SecretStr, SecretStr("s")),
        (bytes, bytearray(b"x")),
        (Any, Tag(key="k")),
        (int | float, Decimal(1)),
        (str, "\ud800"),
        (Color, "red"),
        (Annotated[int, Field(ge=0)], -1),
    ],
)
def test_what_would_come_back_otherwise_is_refused_when_it_is_stored(hint: Any, value: Any) -> None:  # noqa: ANN401
    """F3: better an error in the caller than another value in the worker."""
    with pytest.raises(CannotTravelError, match="WOW-F3"):
        Codec(hint).write(value)


@pytest.mark.parametrize("hint", [socket.socket, Callable[[], int], list[socket.socket], int | socket.socket, Callable])
def test_a_type_that_cannot_travel_is_refused_at_definition(hint: Any) -> None:  # noqa: ANN401
    """F3: where it can be known from the annotation."""
    with pytest.raises(CannotTravelError):
        Codec(hint)


def function(
    d: Decimal,
    u: uuid.UUID,
    t: datetime,
    *rest: Color,
    opt: Tag | None = None,
    k: frozenset[int],
    **more: timedelta,
) -> None:
    """Take something of everything."""


ARGUMENTS = Arguments(read_target(function), receiver=False)


def test_arguments_of_every_kind_are_kept_by_name() -> None:
    """F3: positional, variadic and by keyword; what was not passed is not kept."""
    args = (Decimal("0.10"), uuid.UUID(int=1), datetime(2030, 1, 1, tzinfo=UTC), Color.RED, Color.BLUE)
    kwargs = {"k": frozenset({1}), "lead": timedelta(days=-1, microseconds=1)}

    text = ARGUMENTS.write(args, kwargs)
    bound = ARGUMENTS.read(text)

    assert not isinstance(bound, Unfit)
    assert same((bound.args, bound.kwargs), (args, kwargs))
    assert "opt" not in text
    assert text.startswith('{"v":1,')


def test_an_argument_that_cannot_travel_is_named() -> None:
    """F3: the error says which function and which parameter."""
    with pytest.raises(CannotTravelError, match=r"function: 'u': .*uuid"):
        ARGUMENTS.write((Decimal(1), "no uuid", datetime(2030, 1, 1, tzinfo=UTC)), {"k": frozenset()})
    with pytest.raises(TypeError, match="missing a required argument: 'u'"):
        ARGUMENTS.write((Decimal(1),), {})


def test_too_large_arguments_are_refused_in_the_caller() -> None:
    """S75: with the size, the limit and the parameter."""
    with pytest.raises(CannotTravelError, match=r"1,000,0.. bytes, 1,000,000 is the most .*blob"):
        Arguments(read_target(_blob), receiver=False).write(("x" * 1_000_000,), {})


def _blob(blob: str) -> None: ...


def _no_annotation(x) -> None: ...  # type: ignore[no-untyped-def] # noqa: ANN001


def _unknown_name(x: Missing) -> None: ...  # type: ignore[name-defined] # noqa: F821


def _socket(x: list[socket.socket]) -> None: ...


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (_no_annotation, "takes 'x' without a type"),
        (_unknown_name, "'Missing' of 'x' cannot be resolved"),
        (_socket, "'x': .*cannot travel"),
        (len, "does not tell|without a type"),
    ],
)
def test_a_parameter_that_cannot_travel_is_refused_at_definition(refused: Callable[..., Any], text: str) -> None:
    """F2, F3: every parameter needs an annotation, of a type that travels."""
    with pytest.raises(DefinitionError, match=text):
        Arguments(read_target(refused), receiver=False)


def _v1(email: str, new: bool = False) -> None: ...  # noqa: FBT001, FBT002


def _v2(email: str, site: str | None = None, new: bool = False) -> None: ...  # noqa: FBT001, FBT002


def _v3(email: str, *, tenant: str) -> None: ...


def of(function: Callable[..., Any]) -> Arguments:
    """Read a function's parameters."""
    return Arguments(read_target(function), receiver=False)


def test_a_changed_signature_never_takes_one_argument_for_another() -> None:
    """S95: by name; a new parameter gets its default, a missing one is told, an unknown one is left for others."""
    stored = of(_v1).write(("a@b", True), {})

    fits = of(_v2).read(stored)
    assert not isinstance(fits, Unfit)
    fits.apply_defaults()
    assert fits.arguments == {"email": "a@b", "site": None, "new": True}
    assert of(_v3).read(stored) == Unfit("cannot bind: tenant", older=True)
    newer = of(_v3).write(("a@b",), {"tenant": "t"})
    assert of(_v1).read(newer) == Unfit("cannot bind: there is no parameter tenant", older=False)


def _lenient(x: Lenient, color: Color = Color.RED) -> None: ...


def _strict(x: Strict) -> None: ...


def test_unknown_fields_follow_the_model_and_unknown_values_no_longer_fit() -> None:
    """F4: a model that allows them keeps them; an enum value that is gone does not fit."""
    assert not isinstance(of(_lenient).read('{"v":1,"a":{"x":{"y":1}}}'), Unfit)
    assert isinstance(of(_strict).read('{"v":1,"a":{"x":{"x":1,"y":1}}}'), Unfit)
    gone = of(_lenient).read('{"v":1,"a":{"x":{},"color":"green"}}')
    assert isinstance(gone, Unfit)
    assert gone.text.startswith("cannot bind: color: ")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"v":2,"a":{}}', '{"v":1}', "3"])
def test_what_is_no_envelope_does_not_fit(text: str) -> None:
    """F3: the envelope has a version; one of another program is not guessed at."""
    assert isinstance(of(_strict).read(text), Unfit)


def test_a_function_without_parameters_is_fine() -> None:
    """F2: nothing has to travel."""
    bound = of(_nothing).read(of(_nothing).write((), {}))
    assert not isinstance(bound, Unfit)
    assert (bound.args, bound.kwargs) == ((), {})


def _nothing(): ...  # type: ignore[no-untyped-def] # noqa: ANN202


def test_a_result_needs_an_annotation() -> None:
    """F3: what is returned travels as arguments do."""
    with pytest.raises(DefinitionError, match="says not what it returns"):
        return_hint(_nothing)
    assert return_hint(function) is type(None)


@dataclass
class Nested:
    """As deep as somebody makes it; its own text fails."""

    inner: Nested | None = None

    def __repr__(self) -> str:
        """Fail, as such texts do."""
        raise OSError("no text")


def test_what_is_nested_without_end_is_refused_in_words() -> None:
    """S75: neither a RecursionError nor what the value's own text raises comes out."""
    codec, value = Codec(Nested), Nested()
    for _ in range(5_000):
        value = Nested(value)
    with pytest.raises(CannotTravelError, match=r"nested too deeply|cannot travel"):
        codec.write(value)
    value.inner = value
    with pytest.raises(CannotTravelError, match=r"repr raises OSError|nested too deeply"):
        codec.write(value)
