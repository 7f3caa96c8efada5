"""Resources: the graph is checked at start, each is opened once when needed, all are closed in reverse order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any, Protocol

import pytest

from tests.unit.authored import OrderPaid, refused, resolved
from wow_ray import App, on_event
from wow_ray.handlers.resources import Provider, Resources, check_graph, constructor_needs, read_provider


class Pool:
    """A resource that others are made of."""


class Http:
    """Another one."""


class Buyers:
    """A resource made of two others."""

    def __init__(self, pool: Pool, http: Http) -> None:
        """Keep them."""
        self.pool, self.http = pool, http


class FakeBuyers(Buyers):
    """What a test puts in place of Buyers."""

    def __init__(self) -> None:
        """Need nothing."""


class Notifier:
    """A processor made of resources, one of them twice removed."""

    def __init__(self, buyers: Buyers, pool: Pool, retries: int = 3) -> None:
        """Keep them."""
        self.buyers, self.pool, self.retries = buyers, pool, retries


class Journal(list[str]):
    """What was opened and closed, in order; and providers that write it."""

    failing: frozenset[str] = frozenset()

    def providers(self) -> list[Provider]:
        """Make the providers of Pool, Http and Buyers."""

        async def pool() -> AsyncIterator[Pool]:
            self.append("+pool")
            yield Pool()
            self._close("pool")

        async def http() -> AsyncGenerator[Http, None]:
            self.append("+http")
            yield Http()
            self._close("http")

        async def buyers(pool: Pool, http: Http) -> AsyncIterator[Buyers]:
            self.append("+buyers")
            yield Buyers(pool, http)
            self._close("buyers")

        return [read_provider(function) for function in (buyers, http, pool)]

    def _close(self, name: str) -> None:
        self.append(f"-{name}")
        if name in self.failing:
            raise OSError(f"{name} is stuck")


async def test_a_processor_is_made_of_what_its_constructor_takes() -> None:
    """Resources are found by type, opened once each, what they take first, and closed in reverse order."""
    journal = Journal()
    async with Resources(journal.providers()) as resources:
        assert journal == []
        notifier = await resources.build(Notifier)
        assert notifier.buyers.pool is notifier.pool
        assert notifier.retries == 3
        assert journal == ["+pool", "+http", "+buyers"]
    assert journal[3:] == ["-buyers", "-http", "-pool"]


async def test_a_processor_has_one_instance() -> None:
    """One instance per partition, also when several of its groups ask for it at once."""
    async with Resources(Journal().providers()) as resources:
        first, second = await asyncio.gather(resources.build(Notifier), resources.build(Notifier))
        assert first is second


async def test_an_override_takes_the_place_of_a_provider() -> None:
    """`Scenario(app, {Buyers: fake})`: the fake, of a subclass, is used; neither Buyers nor what it takes is opened."""
    journal, fake = Journal(), FakeBuyers()
    async with Resources(journal.providers(), {Buyers: fake}) as resources:
        notifier = await resources.build(Notifier)
        assert notifier.buyers is fake
    assert journal == ["+pool", "-pool"]


async def test_all_are_closed_when_some_fail_to_close() -> None:
    """Every error is reported, with the resource it comes from, and none keeps another resource open."""
    journal = Journal()
    journal.failing = frozenset({"buyers", "pool"})
    with pytest.raises(ExceptionGroup) as caught:
        async with Resources(journal.providers()) as resources:
            await resources.build(Notifier)
    assert [str(error) for error in caught.value.exceptions] == ["buyers is stuck", "pool is stuck"]
    assert "while closing Buyers" in caught.value.exceptions[0].__notes__[0]
    assert journal[3:] == ["-buyers", "-http", "-pool"]


async def test_the_error_that_ended_the_block_stays_the_error(caplog: pytest.LogCaptureFixture) -> None:
    """What went wrong first is raised; what went wrong while closing is noted on it and logged."""
    journal = Journal()
    journal.failing = frozenset({"http"})

    async def fails() -> None:
        async with Resources(journal.providers()) as resources:
            await resources.build(Notifier)
            raise ValueError("mine")

    with caplog.at_level(logging.ERROR, "wow_ray.handlers"), pytest.raises(ValueError, match="mine") as caught:
        await fails()
    assert "http is stuck" in caught.value.__notes__[0]
    assert [record.message for record in caplog.records] == ["a resource did not close"]
    assert journal[3:] == ["-buyers", "-http", "-pool"]


async def test_a_cancellation_while_closing_closes_the_rest_and_goes_on() -> None:
    """A drain that is cut short still closes everything it can."""
    closed = []

    async def pool() -> AsyncIterator[Pool]:
        yield Pool()
        closed.append("pool")

    async def http() -> AsyncIterator[Http]:
        yield Http()
        raise asyncio.CancelledError

    class Both:
        """Needs both."""

        def __init__(self, pool: Pool, http: Http) -> None:
            """Keep neither."""

    with pytest.raises(asyncio.CancelledError):
        async with Resources([read_provider(pool), read_provider(http)]) as resources:
            await resources.build(Both)
    assert closed == ["pool"]


async def test_what_was_open_is_closed_when_another_cannot_be_opened() -> None:
    """The error says which resource it was."""
    journal = Journal()

    async def http() -> AsyncIterator[Http]:
        if journal:
            raise OSError("no network")
        yield Http()

    providers = [provider for provider in journal.providers() if provider.makes is not Http]
    with pytest.raises(OSError, match="no network") as caught:
        async with Resources([*providers, read_provider(http)]) as resources:
            await resources.build(Notifier)
    assert "while opening Http" in caught.value.__notes__[0]
    assert journal == ["+pool", "-pool"]


async def test_a_provider_yields_exactly_once() -> None:
    """None or two is a mistake of the provider, with its place."""

    async def none() -> AsyncIterator[Pool]:
        for made in list[Pool]():
            yield made

    async def two() -> AsyncIterator[Pool]:
        yield Pool()
        yield Pool()

    class Needs:
        """Needs a pool."""

        def __init__(self, pool: Pool) -> None:
            """Keep nothing."""

    with refused("WOW-PROVIDER", "without a yield"):
        async with Resources([read_provider(none)]) as resources:
            await resources.build(Needs)
    with pytest.raises(ExceptionGroup) as caught:
        async with Resources([read_provider(two)]) as resources:
            await resources.build(Needs)
    assert "yields more than once" in str(caught.value.exceptions[0])


def sync_generator() -> Iterator[Pool]:
    """Yield as a sync generator."""
    yield Pool()


async def coroutine() -> Pool:
    """Return instead of yielding."""
    return Pool()


async def silent():  # type: ignore[no-untyped-def] # noqa: ANN201 - the case
    """Yield without saying what."""
    yield Pool()


async def wrong() -> Pool:  # type: ignore[misc]
    """Say what is yielded in the wrong place."""
    yield Pool()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (sync_generator, "is a sync generator"),
        (coroutine, "is no async generator"),
        (Pool, "is no async generator"),
        (silent, "does not say what it yields"),
        (wrong, "write -> AsyncIterator[...]"),
    ],
)
def test_what_is_no_provider_is_refused(function: Callable[..., Any], text: str) -> None:
    """A provider is an async generator function annotated with what it yields."""
    with refused("WOW-PROVIDER", text):
        read_provider(function)


async def a_pool() -> AsyncIterator[Pool]:
    """Provide a pool."""
    yield Pool()


async def another_pool() -> AsyncIterator[Pool]:
    """Provide a pool as well."""
    yield Pool()


async def http_of_buyers(buyers: Buyers) -> AsyncIterator[Http]:
    """Want what wants it."""
    yield buyers.http


async def buyers_of_http(http: Http, pool: Pool) -> AsyncIterator[Buyers]:
    """Want what wants it."""
    yield Buyers(pool, http)


def test_two_providers_of_one_type_are_an_error_naming_both() -> None:
    """Which one would be opened must not depend on the order of imports."""
    with refused("WOW-RESOURCE", "another_pool (", "a_pool (", "test_resources.py:", "Pool"):
        check_graph([read_provider(a_pool), read_provider(another_pool)], [])


def test_a_type_nobody_provides_is_an_error_naming_who_wants_it() -> None:
    """Found at start, for processors and for providers alike."""
    with refused("WOW-RESOURCE", "Notifier (", "buyers: Buyers", "AsyncIterator[Buyers]"):
        check_graph([read_provider(a_pool)], [Notifier])
    with refused("WOW-RESOURCE", "buyers_of_http (", "http: Http"):
        check_graph([read_provider(a_pool), read_provider(buyers_of_http)], [])


def test_a_provider_of_a_subclass_is_pointed_at() -> None:
    """Resources are found by the type that is annotated, exactly; the error says who nearly provides it."""

    async def fake() -> AsyncIterator[FakeBuyers]:
        yield FakeBuyers()

    with refused("WOW-RESOURCE", "or annotate", "which yields a FakeBuyers"):
        check_graph([read_provider(a_pool), read_provider(fake)], [Notifier])


def test_a_cycle_is_an_error_naming_all_of_it() -> None:
    """Two resources that wait for each other could never be opened."""
    cycle = [read_provider(function) for function in (a_pool, http_of_buyers, buyers_of_http)]
    with refused("WOW-RESOURCE", "waits for itself", "http_of_buyers (", "buyers_of_http ("):
        check_graph(cycle, [])
    check_graph(cycle, [Notifier], overridden={Buyers})


def test_an_override_of_nothing_is_an_error() -> None:
    """A fake that nobody asks for would leave the real one in place unseen."""
    with refused("WOW-RESOURCE", "FakeBuyers (", "nothing takes or provides it"):
        check_graph([read_provider(a_pool)], [], overridden={FakeBuyers})


class Sender(Protocol):
    """A type that is an interface."""


def test_needs_are_read_from_the_constructor() -> None:
    """Parameters with a default are optional, those without a type are an error, and stars are nobody's business."""

    class Odd:
        """Takes all sorts."""

        def __init__(self, sender: Sender, *args: object, limit: int = 3, free=4, **more: object) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
            """Keep nothing."""

    class Untyped:
        """Says not what it takes."""

        def __init__(self, sender) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - the case
            """Keep nothing."""

    class ByPosition:
        """Takes it by position."""

        def __init__(self, sender: Sender, /) -> None:
            """Keep nothing."""

    class Inherits(Odd):
        """Takes what its base takes."""

    assert [(n.parameter, n.type, n.optional) for n in constructor_needs(Inherits)] == [
        ("sender", Sender, False),
        ("limit", int, True),
    ]
    assert constructor_needs(Pool) == ()
    with refused("WOW-RESOURCE", "takes 'sender' without a type"):
        constructor_needs(Untyped)
    with refused("WOW-RESOURCE", "by position only"):
        constructor_needs(ByPosition)


async def test_an_optional_parameter_takes_the_resource_when_there_is_one() -> None:
    """A default is for where nobody provides the type."""

    class Optional:
        """Would like a pool."""

        def __init__(self, pool: Pool | None = None, http: Http = None) -> None:  # type: ignore[assignment]
            """Keep both."""
            self.pool, self.http = pool, http

    async with Resources(Journal().providers()) as resources:
        found = await resources.build(Optional)
        assert found.pool is None
        assert isinstance(found.http, Http)


def test_the_app_checks_its_graph_at_start() -> None:
    """`@app.provide` refuses a sync generator at once; what is missing is found when the app is resolved."""
    app = App("shop")
    with refused("WOW-PROVIDER", "is a sync generator"):
        app.provide(sync_generator)  # type: ignore[type-var]
    assert app.provide(a_pool) is a_pool

    class Needy:
        """Needs Buyers."""

        def __init__(self, buyers: Buyers) -> None:
            """Keep nothing."""

        @on_event
        async def on_paid(self, event: OrderPaid) -> None:
            """Handle it."""

    app.reactor(Needy)
    with refused("WOW-RESOURCE", "Needy ("):
        resolved(app)
