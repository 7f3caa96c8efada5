"""Events: what happened to one aggregate, appended together as one version."""

import pytest
from pydantic import BaseModel

from wow_ray import Aggregate, App, ConcurrencyError, Event, InvalidEventError, Scope, on_event
from wow_ray.testing import Scenario

order = Aggregate("order")


@order.event("order_paid")
class OrderPaid(BaseModel):
    """The buyer has paid."""

    cents: int


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """A parcel has left."""

    parcel: str


async def test_an_append_gives_the_aggregate_its_next_version() -> None:
    """A commit is one version, whatever it holds; versions count from 1."""
    async with Scenario(App("shop")) as running:
        first = await running.store.append(order("o-42"), [OrderPaid(cents=500)], expected_version=0)
        second = await running.store.append(order("o-42"), [OrderShipped(parcel="p-1")], expected_version=1)

    assert first.version == 1
    assert second.version == 2


async def test_an_append_that_expects_another_version_is_refused() -> None:
    """Two writers cannot both be the first: the second one reads again and decides anew."""
    async with Scenario(App("shop")) as running:
        await running.store.append(order("o-42"), [OrderPaid(cents=500)], expected_version=0)

        with pytest.raises(ConcurrencyError):
            await running.store.append(order("o-42"), [OrderPaid(cents=500)], expected_version=0)


async def test_an_append_that_expects_nothing_always_follows_the_last_version() -> None:
    """`expected_version=None` is for facts that are true whatever happened before."""
    async with Scenario(App("shop")) as running:
        await running.store.append(order("o-42"), [OrderPaid(cents=500)], expected_version=None)
        commit = await running.store.append(order("o-42"), [OrderPaid(cents=500)], expected_version=None)

    assert commit.version == 2


async def test_an_append_may_be_repeated_under_its_commit_id() -> None:
    """H36: whoever does not know whether an append arrived sends it again, and gets the first answer."""
    async with Scenario(App("shop")) as running:
        first = await running.store.append(order("o-42"), [OrderPaid(cents=500)], expected_version=0, commit_id="c-1")
        again = await running.store.append(order("o-42"), [OrderPaid(cents=500)], expected_version=0, commit_id="c-1")

    assert again == first


async def test_only_declared_events_of_the_aggregate_can_be_appended() -> None:
    """The name and the aggregate of an event stand on its class."""

    class Nothing(BaseModel):
        pass

    async with Scenario(App("shop")) as running:
        with pytest.raises(InvalidEventError):
            await running.store.append(order("o-42"), [Nothing()], expected_version=0)


async def test_events_of_one_commit_share_its_version_and_are_numbered_in_it() -> None:
    """The place of an event is (version, sequence); the sequence counts from 0."""
    app = App("shop")
    places: list[tuple[int, int]] = []

    @app.reactor
    class Watcher:
        @on_event
        async def on_paid(self, event: Event[OrderPaid | OrderShipped]) -> None:
            places.append((event.version, event.sequence))

    async with Scenario(app) as running:
        await running.store.append(
            order("o-42"), [OrderPaid(cents=500), OrderShipped(parcel="p-1")], expected_version=0
        )
        await running.store.append(order("o-42"), [OrderShipped(parcel="p-2")], expected_version=1)
        await running.advance("1s")

    assert places == [(1, 0), (1, 1), (2, 0)]


async def test_an_event_carries_whose_it_is_and_what_its_producer_added() -> None:
    """Scope (tenant and owner) and headers are stored with the commit and given to every handler."""
    app = App("shop")
    seen: list[tuple[Scope, str]] = []

    @app.reactor
    class Watcher:
        @on_event
        async def on_paid(self, event: Event[OrderPaid]) -> None:
            seen.append((event.scope, event.headers["trace"]))

    async with Scenario(app) as running:
        await running.store.append(
            order("o-42"),
            [OrderPaid(cents=500)],
            expected_version=0,
            scope=Scope(tenant_id="acme", owner_id="b-7"),
            headers={"trace": "t-1"},
        )
        await running.advance("1s")

    assert seen == [(Scope(tenant_id="acme", owner_id="b-7"), "t-1")]
