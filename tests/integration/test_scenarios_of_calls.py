"""What has gone wrong elsewhere with durable retries does not here: the public scenarios J, on both real stores."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel

from tests.redis_server import RedisServer, running_redis
from tests.waiting import until
from wow_ray import App, CallState, CannotTravelError, Category, Durable, SettingsError, current_call, retryable
from wow_ray.cluster import database_of, migrated, open_operations, open_service, settings_of
from wow_ray.ops import CallQuery, CallView, Operations
from wow_ray.policy.durable_call import NewCall
from wow_ray.ports.durable_calls import NOTICE_OF
from wow_ray.runtime.service import Service

app = App("scenarios")


class Color(Enum):
    """An enum."""

    RED = "red"


@dataclass(frozen=True)
class Tag:
    """A dataclass."""

    name: str


class Order(BaseModel):
    """A model."""

    lines: dict[str, Decimal]


class Busy(Exception):  # noqa: N818 - named as an author would
    """What can be pickled in no way, and asks for a wait (S76)."""

    def __init__(self, *, retry_after: float) -> None:
        """Take what pickle does not give back, and hold what it cannot take."""
        super().__init__("busy")
        self.status_code = 429
        self.headers = {"Retry-After": str(retry_after)}
        self.lock = threading.Lock()


class Seen:
    """What the functions were called with, and what they are to raise."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, Any]] = []
        self.errors: list[BaseException] = []
        self.fallbacks = 0

    def note(self, passed: object) -> None:
        """Note a call, and raise what is to be raised."""
        call = current_call()
        self.calls.append((call.id, call.attempt, passed))
        if self.errors:
            raise self.errors.pop(0)


seen = Seen()
SOON = Durable(max_retries=5, initial_delay="10ms")


async def last_stop(error: Exception, n: int) -> None:  # noqa: ARG001 - the form of a fallback
    """Fail as well."""
    seen.fallbacks += 1
    raise KeyError("the fallback")


@app.retryable(durable=SOON, fallback=last_stop, name="work")
async def work(n: int) -> int:
    """Do what is to be done."""
    seen.note(n)
    return n


@app.retryable(durable=SOON, raise_error=True, name="typed")
async def typed(  # noqa: PLR0917 - one of each type
    d: Decimal,
    u: UUID,
    t: datetime,
    e: Color,
    o: Order,
    xs: list[Tag],
    m: dict[UUID, Decimal],
    opt: Tag | None,
    *,
    k: frozenset[int],
    b: bytes,
    td: timedelta,
    tup: tuple[int, str],
    text: str,
) -> None:
    """Take one of each type, and fail once."""
    seen.note((d, u, t, e, o, xs, m, opt, k, b, td, tup, text))


@app.retryable(durable=SOON, raise_error=True, name="numbers")
async def numbers(x: float, y: list[float]) -> float:
    """Take what JSON does not know."""
    seen.note((x, y))
    return x


@app.retryable(durable=SOON, raise_error=True, name="large")
async def large(n: int) -> str:
    """Return so many characters."""
    seen.note(n)
    return "x" * n


@app.retryable(durable=SOON, raise_error=True, name="swallow")
async def swallow(text: str) -> None:
    """Take a text."""
    seen.note(len(text))


@app.retryable(durable=SOON, raise_error=True, name="mail")
async def mail(email: str, site: str | None = None, new: bool = False) -> None:  # noqa: FBT001, FBT002 - S95's own form
    """Be the second version of it."""
    seen.note((email, site, new))


@app.retryable(durable=SOON, raise_error=True, name="moved")
async def moved(email: str, *, tenant: str) -> None:
    """Be the third version of it."""
    seen.note((email, tenant))


@retryable(max_attempts=3, initial_backoff="0s")
async def inner(n: int) -> None:
    """Fail always, in process."""
    seen.calls.append(("inner", current_call().attempt, n))
    raise ValueError(n)


@app.retryable(durable=Durable(max_retries=1, initial_delay="10ms"), name="outer")
async def outer(n: int) -> None:
    """Call a function that is retried by itself."""
    seen.note(n)
    await inner(n)


class World:
    """The running app, and what operates it."""

    def __init__(self, service: Service, operations: Operations) -> None:
        self.service = service
        self.operations = operations

    async def over(self, count: int = 1) -> Sequence[CallView]:
        """Wait until so many calls have ended, and give them."""
        found: Sequence[CallView] = ()

        async def ended() -> bool:
            nonlocal found
            states = frozenset(CallState) - {CallState.WAITING, CallState.RUNNING}
            found = (await self.operations.calls.listed(CallQuery(states, limit=1_000))).calls
            return len(found) >= count

        await until(ended, f"{count} calls to end")
        return found


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """Give a real server."""
    with running_redis() as server:
        yield server


@asynccontextmanager
async def running(environ: dict[str, str]) -> AsyncIterator[World]:
    """Run the app under these settings."""
    settings = settings_of(app, environ=environ)
    database = database_of(settings, "scenarios")
    await migrated(database, settings)
    spec = app.resolved(settings)
    async with open_service(spec, settings, database) as service, open_operations(database, spec) as operations:
        yield World(service, operations)


@pytest.fixture(params=["postgres", "redis"])
def environ(request: pytest.FixtureRequest, redis: RedisServer, postgres_dsn: str, schema: str) -> dict[str, str]:
    """Give settings of an empty store on a real server."""
    vars(seen).clear()
    seen.__init__()  # type: ignore[misc]
    return {
        "WOW_RAY_POSTGRES_DSN": postgres_dsn,
        "WOW_RAY_POSTGRES_SCHEMA": schema,
        "WOW_RAY_REDIS_URL": redis.url,
        "WOW_RAY_CALLS__STORE": request.param,
        "WOW_RAY_SLOTS": "8",
        "WOW_RAY_PARTITIONS": "1",
    }


@pytest.fixture
async def world(environ: dict[str, str]) -> AsyncIterator[World]:
    """Run the app on an empty store."""
    async with running(environ) as opened:
        yield opened


async def test_attempts_and_retries_are_counted_and_both_errors_kept(world: World) -> None:
    """S44, S100, S105: five retries are six calls; the fallback is called once; one fact is told, of the end."""
    seen.errors = [ValueError(n) for n in range(6)]
    assert await work(1) == 0
    (call,) = await world.over()
    assert [attempt for _, attempt, _ in seen.calls] == [1, 2, 3, 4, 5, 6]
    assert len({call_id for call_id, _, _ in seen.calls}) == 1
    assert (call.reason, call.fallback, seen.fallbacks) == ("budget_spent", "failed", 1)
    shown = await world.operations.calls.shown(call.id)
    assert shown.call.error is not None
    assert shown.fallback_error is not None
    assert (shown.call.error.type, shown.fallback_error.type) == ("ValueError", "KeyError")

    async def told() -> bool:
        facts = await world.service.client.ledger.notices(0, 10)
        return [(kind, of) for _, kind, of in facts] == [("exhausted", f"{NOTICE_OF}{call.id}")]

    await until(told, "the one fact, which is written behind the end of a call that lies in Redis")


async def test_a_retry_within_a_durable_function_has_a_budget_of_its_own(world: World) -> None:
    """S47, S99: two calls of the outer one, three of the inner one in each; no budget multiplies another."""
    await outer.submit(7)
    (call,) = await world.over()
    assert call.attempts == 2
    assert [(name, attempt) for name, attempt, _ in seen.calls if name == "inner"] == [
        ("inner", n) for n in (1, 2, 3)
    ] * 2


async def test_types_come_back_as_they_were(world: World) -> None:
    """S93: the first call and the retried one see equal values of the same types."""
    seen.errors = [ValueError("once")]
    key = uuid4()
    passed: tuple[Any, ...] = (Decimal("0.10"), key, datetime(2026, 5, 1, tzinfo=UTC), Color.RED)
    passed += (Order(lines={"a": Decimal("1.0")}), [Tag("x")], {key: Decimal("2.50")}, Tag("o"))
    named = {"k": frozenset({2**63}), "b": b"\x00\xff", "td": timedelta(seconds=1.5), "tup": (1, "a"), "text": str(key)}
    with pytest.raises(ValueError, match="once"):
        await typed(*passed, **named)  # type: ignore[arg-type]
    await world.over()
    (_, _, first), (_, _, second) = seen.calls
    assert first == second == (*passed, *named.values())
    assert [type(each) for each in first] == [type(each) for each in second]
    assert first[0].as_tuple() == second[0].as_tuple()


async def test_what_json_does_not_know_travels(world: World) -> None:
    """S73: NaN and the infinities come back, as arguments and as results."""
    seen.errors = [ValueError("once")]
    call = await numbers.submit(math.nan, [math.inf, -math.inf])
    await world.over()
    (_, _, (x, y)) = seen.calls[-1]
    assert math.isnan(x)
    assert y == [math.inf, -math.inf]
    assert math.isnan(await call.result("10s"))


async def test_what_is_too_large_is_refused_to_its_caller_or_ends_at_once(world: World) -> None:
    """S75, S71: in the caller with size and limit, by the parameter's name; a result is not tried again."""
    with pytest.raises(CannotTravelError, match=r"1,000,000 is the most.*text"):
        await swallow.submit("x" * 60_000_000)
    await swallow.submit("a\x00b\u20ac")
    (call,) = await world.over()
    assert (call.state, seen.calls[-1][2]) == ("succeeded", 4)
    with pytest.raises(CannotTravelError, match="text"):
        await swallow.submit("\ud83d")
    await large.submit(2_000_000)
    ended = {each.function: each for each in await world.over(2)}
    assert (ended["large"].state, ended["large"].reason, ended["large"].attempts) == ("exhausted", "unrecoverable", 1)


async def test_an_error_that_cannot_be_pickled_means_what_it_says(world: World) -> None:
    """S76: its wait is kept and charged to busy answers; the row names its own class."""
    seen.errors = [Busy(retry_after=0)]
    await work.submit(1)
    (call,) = await world.over()
    assert (call.state, call.busy, call.attempts) == ("succeeded", 1, 2)
    assert call.error is not None
    assert (call.error.type.rpartition(".")[2], call.error.category) == ("Busy", Category.BACKPRESSURE.value)


async def test_the_hosts_settings_count_wherever_calls_are_run(environ: dict[str, str]) -> None:
    """S79: in the environment as one JSON value; a name of nobody is an error at the start that names the nearest."""
    async with running({**environ, "WOW_RAY_FUNCTIONS": '{"work": {"max_retries": 1}}'}) as world:
        seen.errors = [ValueError(n) for n in range(9)]
        await work.submit(1)
        (call,) = await world.over()
        assert call.attempts == 2
    with pytest.raises(SettingsError, match="did you mean 'work'"):
        app.resolved(settings_of(app, environ={**environ, "WOW_RAY_FUNCTIONS": '{"wrok": {"max_retries": 1}}'}))
    with pytest.raises(SettingsError, match="one JSON value"):
        settings_of(app, environ={**environ, "WOW_RAY_FUNCTIONS__WORK__MAX_RETRIES": "1"})


async def test_calls_outlive_a_change_of_their_signature(world: World) -> None:
    """S95: defaults apply where the call is made; what cannot be bound waits for a person and burns nothing."""
    calls = world.service.client.calls
    await calls.submit(new_call("mail", '{"v":1,"a":{"email":"a@b","new":true}}'))
    await calls.submit(new_call("moved", '{"v":1,"a":{"email":"a@b"}}'))
    await calls.submit(new_call("mail", '{"v":1,"a":{"email":"a@b","tenant":"t"}}'))  # of a newer program
    ended = {each.function: each for each in await world.over(2)}
    assert [passed for _, _, passed in seen.calls] == [("a@b", None, True)]
    assert (ended["moved"].reason, ended["moved"].attempts, ended["moved"].note) == ("unfit", 0, "cannot bind: tenant")
    (newer,) = (await world.operations.calls.listed(CallQuery(function="mail"))).calls
    assert (newer.state, newer.attempts) == ("waiting", 0)


async def test_a_hundred_at_once_count_for_themselves(world: World) -> None:
    """S99, S102: odd ones fail always and are called six times, the even ones once; each keeps its id and headers."""

    async def one(n: int) -> None:
        await numbers.options(headers={"trace": str(n)}).submit(float(n), [])

    seen.note = _odd_fails  # type: ignore[method-assign, assignment]
    await asyncio.gather(*map(one, range(100)))
    await world.over(100)
    made: dict[float, list[tuple[str, int]]] = {}
    for call_id, attempt, (x, _) in seen.calls:
        made.setdefault(x, []).append((call_id, attempt))
    for n in range(100):
        attempts = [attempt for _, attempt in made[float(n)]]
        assert attempts == ([1, 2, 3, 4, 5, 6] if n % 2 else [1])
        assert len({call_id for call_id, _ in made[float(n)]}) == 1


def new_call(function: str, payload: str) -> NewCall:
    """Make a call as another program has stored it."""
    return NewCall(str(uuid4()), function, payload)


def _odd_fails(passed: tuple[float, Any]) -> None:
    call = current_call()
    assert call.headers == {"trace": str(int(passed[0]))}
    seen.calls.append((call.id, call.attempt, passed))
    if passed[0] % 2:
        raise ValueError(passed[0])
