"""`App`: declaring answers what it was given, and `connect` is the one door to the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from threading import current_thread
from typing import Any

import pytest
from pydantic import BaseModel

from tests.unit.authored import OrderPaid, order, refused, resolved
from wow_ray import AggregateRef, App, Category, Commit, NotConnectedError, Scope, on_event
from wow_ray.app import connection as connecting
from wow_ray.app import install_connector
from wow_ray.app.connection import Producing
from wow_ray.events import NewCommit, StoredEvent


class Notifier:
    """A processor."""

    @on_event
    async def on_paid(self, event: OrderPaid) -> None:
        """Handle it."""


class Resource:
    """A resource."""


class Remembering:
    """A store that remembers what was appended, and in which thread and loop."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self.commits: list[tuple[AggregateRef, int | None, Scope | None, str | None]] = []
        self.threads: set[str] = set()

    async def append(
        self,
        ref: AggregateRef,
        events: Sequence[BaseModel],
        *,
        expected_version: int | None,
        scope: Scope | None = None,
        commit_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        connection: Any = None,  # noqa: ANN401, ARG002 - the port's
    ) -> Commit:
        """Append."""
        self.threads.add(current_thread().name)
        if headers == {"fail": "yes"}:
            raise ValueError("refused")
        self.commits.append((ref, expected_version, scope, commit_id))
        return Commit(ref, len(events), 0, (len(self.commits),))

    async def append_many(self, commits: Sequence[NewCommit], *, connection: Any = None) -> tuple[Commit, ...]:  # noqa: ANN401, ARG002
        """Append several."""
        return tuple([await self.append(each.ref, each.events, expected_version=None) for each in commits])

    async def stream(self, ref: AggregateRef, *, from_version: int = 1) -> AsyncIterator[StoredEvent]:
        """Read them again."""
        for version in range(from_version, 4):
            yield StoredEvent(0, version, ref.aggregate, ref.id, version, 0, "t", 1, None, None, "{}", None, None)  # type: ignore[arg-type]


class Stores:
    """What a connector opens."""

    def __init__(self, events: Any) -> None:  # noqa: ANN401 - a double
        """Hold the log; calls are not made here."""
        self.events = events
        self.calls: Any = None


class Connected:
    """A connector that counts what it opened and closed."""

    def __init__(self) -> None:
        """Begin with nothing open."""
        self.store = Remembering()
        self.log: list[str] = []
        self.failing = False

    @asynccontextmanager
    async def __call__(self, app: App, dsn: str | None, /) -> AsyncIterator[Producing]:
        """Open the store."""
        if self.failing:
            raise NotConnectedError("no server")
        self.log.append(f"+{app.context} {dsn}")
        task = asyncio.current_task()
        yield Stores(self.store)
        assert asyncio.current_task() is task
        self.log.append(f"-{app.context}")


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Connected:
    """A connector, installed for this test."""
    monkeypatch.setattr(connecting, "_installed", [])
    connector = Connected()
    install_connector(connector)
    return connector


def test_declaring_answers_what_it_was_given() -> None:
    """Bare or with options, classes and functions stay what they were, so that tests can call them."""
    app = App("shop")
    assert app.reactor(Notifier) is Notifier
    assert App("shop").reactor(name="N", start="beginning")(Notifier) is Notifier
    assert App("shop").projection(Notifier) is Notifier
    assert App("shop").projection(start="end")(Notifier) is Notifier

    async def resource() -> AsyncIterator[Resource]:
        yield Resource()

    def opinion(error: BaseException, subscription: str) -> Category | None:
        return Category.SYSTEMIC if isinstance(error, OSError) and subscription else None

    assert app.provide(resource) is resource
    assert app.classifier(opinion) is opinion
    spec = resolved(app)
    assert spec.classifiers == (opinion,)
    assert [provider.makes for provider in spec.providers] == [Resource]


def test_classifiers_are_asked_in_order() -> None:
    """K1: those given to the app first, then the decorated ones in the order they were written."""

    def first(error: BaseException, subscription: str) -> Category | None:
        """Have no opinion."""

    def second(error: BaseException, subscription: str) -> Category | None:
        """Have no opinion."""

    app = App("shop", classifiers=[first])
    app.classifier(second)
    assert resolved(app).classifiers == (first, second)

    async def waits(error: BaseException, subscription: str) -> Category | None:
        """Is awaited."""

    assert app.classifier(waits) is waits
    assert resolved(app).classifiers == (first, second, waits)


def test_what_cannot_be_a_classifier_is_refused_where_it_is_declared() -> None:
    """K8: an error that would only show at the first failure shows at start."""

    def too_few(error: BaseException) -> Category | None:
        """Have no room for the subscription."""

    with refused("WOW-CLASSIFIER", "too_few", "too many positional arguments"):
        App("shop").classifier(too_few)  # type: ignore[type-var]
    with refused("WOW-CLASSIFIER", "is no function"):
        App("shop", classifiers=[7])  # type: ignore[list-item]


@pytest.mark.parametrize("context", ["", "my shop", "a.b", "1st"])
def test_a_context_is_a_name(context: str) -> None:
    """It is stored with every event."""
    with refused("WOW-NAME", "a context"):
        App(context)


def test_a_key_prefix_is_short_printable_text() -> None:
    """H28: it goes into every invocation key, and so into the headers of what is called."""
    assert App("shop", key_prefix="eu-1:").key_prefix == "eu-1:"
    for prefix in ("a\nb", "a\x00", "x" * 200):
        with refused("WOW-NAME", "key_prefix"):
            App("shop", key_prefix=prefix)


def test_what_this_version_does_not_offer_is_refused_by_name() -> None:
    """C7 and later issues: there are no sagas to declare."""
    assert not hasattr(App, "saga")


def test_what_a_process_of_a_processor_is_to_have_is_said_with_it() -> None:
    """`num_cpus` and `num_gpus` count for each process of `isolation="actor"`, and mean nothing for a lane."""
    App("shop").reactor(isolation="actor", num_cpus=0.5, num_gpus=1)(Notifier)

    with refused("WOW-ISOLATION", "num_cpus= is for isolation='actor'"):
        App("shop").reactor(num_cpus=1)(Notifier)
    for amount in (-1, True, float("nan"), "2"):
        with refused("WOW-ISOLATION", "num_gpus="):
            App("shop").reactor(isolation="actor", num_gpus=amount)(Notifier)  # type: ignore[call-overload]


def test_a_mistake_in_an_option_is_refused_at_definition() -> None:
    """Where the decorator is written, not when the app starts."""
    with refused("WOW-PROCESSOR", "start='now'"):
        App("shop").reactor(start="now")(Notifier)  # type: ignore[call-overload]
    with refused("WOW-ISOLATION", "isolation='thread'"):
        App("shop").reactor(isolation="thread")(Notifier)  # type: ignore[call-overload]
    with refused("WOW-NAME", "'a.b'"):
        App("shop").reactor(name="a.b")(Notifier)
    with refused("WOW-PROCESSOR", "is for classes"):
        App("shop").reactor(Notifier.on_paid)  # type: ignore[call-overload]


def test_a_class_is_registered_once() -> None:
    """Twice, it would handle everything twice."""
    app = App("shop")
    app.reactor(Notifier)
    with refused("WOW-TWICE", "Notifier (", "App('shop')"):
        app.projection(name="Other")(Notifier)


async def test_connect_gives_a_client_for_as_long_as_the_block_lasts(connected: Connected) -> None:
    """Inside, `client.store` appends and `app.client` finds it; afterwards both say how to connect."""
    app = App("shop")
    async with app.connect("postgresql://x") as client:
        assert app.client is client
        commit = await client.store.append(order("o-1"), [OrderPaid()], expected_version=0)
        assert commit.version == 1
    assert connected.log == ["+shop postgresql://x", "-shop"]
    with pytest.raises(NotConnectedError, match=r"async with app.connect\(\)"):
        _ = app.client
    with pytest.raises(NotConnectedError, match=r"App\('shop'\)"):
        _ = client.store


async def test_two_connections_end_each_for_itself(connected: Connected) -> None:
    """The innermost one open is the app's; ending it leaves the other usable."""
    app = App("shop")
    async with app.connect() as outer:
        async with app.connect() as inner:
            assert app.client is inner
        assert app.client is outer
        assert outer.store is connected.store


async def test_an_error_in_the_block_disconnects_too(connected: Connected) -> None:
    """And passes through as it is."""
    app = App("shop")
    with pytest.raises(ValueError, match="mine"):
        async with app.connect():
            raise ValueError("mine")
    assert not app._clients  # noqa: SLF001 - what must be empty
    assert connected.log == ["+shop None"]


def test_without_a_connector_nothing_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package installs one; another cannot take its place unseen, and the same may be installed again."""
    monkeypatch.setattr(connecting, "_installed", [])
    with pytest.raises(NotConnectedError, match="import wow_ray"), App("shop").connect_sync():
        raise AssertionError
    first = Connected()
    install_connector(first)
    install_connector(first)
    with refused("WOW-CONNECT", "installed already"):
        install_connector(Connected())


def test_code_without_a_loop_connects_too(connected: Connected) -> None:
    """`connect_sync`: each call waits for its answer from a private loop, which ends with the block."""
    scope = Scope(owner_id="b-7")
    with App("shop").connect_sync() as client:
        commit = client.store.append(order("o-1"), [OrderPaid()], expected_version=0, scope=scope, commit_id="c")
        assert commit.version == 1
        many = client.store.append_many([NewCommit(order("o-2"), (OrderPaid(),)), NewCommit(order("o-3"), ())])
        assert [each.ref.id for each in many] == ["o-2", "o-3"]
        assert [event.version for event in client.store.stream(order("o-1"), from_version=2)] == [2, 3]
        with pytest.raises(ValueError, match="refused"):
            client.store.append(order("o-1"), [], expected_version=None, headers={"fail": "yes"})
    assert connected.store.commits[0] == (order("o-1"), 0, scope, "c")
    assert connected.store.threads == {"wow-ray-sync"}
    assert connected.log == ["+shop None", "-shop"]
    with pytest.raises(NotConnectedError):
        client.store.append(order("o-1"), [], expected_version=None)


def test_a_sync_connection_fails_as_an_async_one_does(connected: Connected) -> None:
    """The error of opening is raised in the caller's thread, and one in the block closes the connection."""
    connected.failing = True
    with pytest.raises(NotConnectedError, match="no server"), App("shop").connect_sync():
        raise AssertionError
    connected.failing = False
    with pytest.raises(KeyError), App("shop").connect_sync():
        raise KeyError("mine")
    assert connected.log == ["+shop None", "-shop"]


async def test_a_sync_connection_inside_a_loop_is_refused(connected: Connected) -> None:
    """It would block the very loop that runs it."""
    with pytest.raises(NotConnectedError, match="would block"), App("shop").connect_sync():
        raise AssertionError
    assert connected.log == []


def test_an_app_reads_as_it_is_written_without_its_settings() -> None:
    """Settings may hold a DSN."""
    assert repr(App("shop", settings={"postgres_dsn": "postgresql://u:hunter2@h"})) == "App('shop')"
