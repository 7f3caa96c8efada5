"""The ledger actor brings what is due to the owners, and nothing depends on it but that (H5)."""

from __future__ import annotations

from tests.unit.actors.local import LocalFleet, fleet_of
from tests.unit.runtime.desk import Desk, Paid, Unlisted, order
from tests.unit.runtime.shop import app
from wow_ray.actors.fleet import LEDGER
from wow_ray.policy.parked import State, Verb
from wow_ray.policy.slots import slot_of
from wow_ray.ports.ledger import NewIntent

MINUTE = 60.0
IDS = [f"o-{number}" for number in range(8)]


async def parked(fleet: LocalFleet, *ids: str) -> None:
    """Run two partitions, and park an order of each id at its first event: 5 calls fail."""
    desk = fleet.site.desk
    await fleet.site.planned(2)
    for name in ("shop-0", "shop-1"):
        await fleet.start(name)
    await desk.clock.advance(3)
    for each in ids:
        desk.next(each, *[Unlisted("no")] * 5)
        await fleet.site.client.events.append(order(each), [Paid()], expected_version=None)
        # Not together: the first failure of several aggregates is no outage here.
        await desk.clock.advance(15)
    assert await fleet.site.client.ledger.counts() == {("Notifier.on_paid", State.PARKED): len(ids)}


async def test_due_retries_wait_while_it_is_away_and_come_once_each_when_it_is_back() -> None:
    """Parking goes on without it; after ten minutes all 8 are overdue, nobody is called; back, each is called once."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await parked(fleet, *IDS)
        before = len(desk.calls)
        await desk.clock.advance(10 * MINUTE)
        assert len(desk.calls) == before

        await fleet.start(LEDGER)
        await desk.clock.advance(10)

        assert len(desk.calls) == before + len(IDS)
        assert sorted(call.id for call in desk.calls[before:]) == IDS
        assert await fleet.site.client.ledger.counts() == {}
        await desk.clock.advance(10 * MINUTE)
        assert len(desk.calls) == before + len(IDS)


async def test_a_retry_is_made_when_it_is_due() -> None:
    """3 min after parking, by the store's clock; killed and started anew in between, the actor knows as much."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(LEDGER)
        await parked(fleet, "o-1")
        (first, *_) = desk.times("o-1")
        await desk.clock.advance(MINUTE)
        await fleet.kill(LEDGER)
        await fleet.start(LEDGER)

        await desk.clock.advance(3 * MINUTE)

        (retry,) = desk.times("o-1")[5:]
        assert 180 < retry - first < 180 * 1.25 + 5
        assert desk.done == [("o-1", 1)]


async def test_only_owners_with_something_due_are_nudged() -> None:
    """One order of eight is parked: its owner is nudged when it is due, the other one never."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(LEDGER)
        await parked(fleet, "o-1")
        assert fleet.nudges == []

        await desk.clock.advance(4 * MINUTE)

        owner = "shop-0" if slot_of("shop", "order", "o-1", 8) < 4 else "shop-1"
        assert set(fleet.nudges) == {owner}
        assert (await fleet.actors[LEDGER].status())["nudged"] == len(fleet.nudges)


async def test_an_intent_is_brought_to_its_owner() -> None:
    """The owner's own look for intents is an hour away here; the nudge brings a resume within a second."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start(LEDGER)
        await parked(fleet, "o-1")
        ledger = fleet.site.client.ledger
        row = await ledger.open_row("Notifier.on_paid", "order", "o-1")
        assert row is not None
        slot = slot_of("shop", "order", "o-1", 8)
        asked = NewIntent("r-1", Verb.RESUME, row.group, slot, "order", "o-1", row.id, None, None, "test", "fixed")
        await ledger.ask(asked)

        await desk.clock.advance(1)

        intent = await ledger.intent("r-1")
        assert intent is not None
        assert intent.state == "done"
        assert desk.done == [("o-1", 1)]


async def test_it_keeps_the_house_beside_and_no_more_once_it_is_gone() -> None:
    """P13, H53: what is done for the whole store is done by its process alone, and ends with what it had opened."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        await fleet.start("shop-0")
        assert fleet.site.chores == []

        await fleet.start(LEDGER)
        await desk.clock.advance(3)
        done = len(fleet.site.chores)
        await fleet.kill(LEDGER)
        await desk.clock.advance(3)

        assert done >= 3
        assert fleet.site.chores.count("over") == 1
        assert len(fleet.site.chores) == done + 1
