"""Actors that run durable calls and nothing else: as many as are asked for, kept like partitions, owning nothing."""

from __future__ import annotations

import pytest

from tests.unit.actors.local import LocalFleet, fleet_of
from tests.unit.actors.test_deployment import passing, up
from tests.unit.runtime.desk import Desk, Paid
from wow_ray import App, CallState, Context, Durable, Event, on_event
from wow_ray.actors.deployment import Deployment
from wow_ray.actors.fleet import LEDGER, SUPERVISOR, callers_of
from wow_ray.actors.supervisor import SILENT, STRANGE
from wow_ray.errors import StoreUnavailableError
from wow_ray.policy.durable_call import NewCall
from wow_ray.runtime.call_service import CALLS

BOTH = {"calls/0", "calls/1"}
app = App("shop")


@app.reactor
class Notifier:
    """Something that partitions do."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Handle one."""
        self.desk.note(event, ctx)


@app.retryable(durable=Durable(max_retries=1, initial_delay="1s"), name="double")
async def double(number: int) -> int:
    """Double what is above zero."""
    if number < 0:
        raise ValueError(number)
    return number * 2


async def state_of(fleet: LocalFleet, number: int) -> CallState:
    """Store a call, let some time pass, and look at it."""
    calls = fleet.site.client.calls
    await calls.submit(NewCall(f"c-{number}", "double", double.arguments.write((number,), {})))
    await fleet.site.desk.clock.advance(3)
    row = await calls.get(f"c-{number}")
    assert row is not None
    return row.state


async def test_they_are_started_with_the_partitions_which_then_run_no_calls() -> None:
    """F2: two of them beside one partition; what is due is run, and both stand among the owners with what they do."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        fleet.site.callers = 2
        plan = await up(fleet, 1)

        assert await fleet.names() == {SUPERVISOR, LEDGER, *plan.partitions, *BOTH}
        assert await state_of(fleet, 21) is CallState.SUCCEEDED
        assert await state_of(fleet, -1) is CallState.EXHAUSTED
        seen = await fleet.site.memory.overview().snapshot()
        assert {owner.partition for owner in seen.owners if owner.lease_left > 0} >= BOTH
        reports = [each.report for each in await fleet.site.client.reports.present() if each.partition in BOTH]
        groups = [report.groups[CALLS] for report in reports if report is not None]
        assert (sum(each.handled for each in groups), sum(each.failed for each in groups)) == (1, 2)


async def test_one_that_does_not_answer_is_replaced_and_one_too_many_is_drained_and_ended() -> None:
    """The supervisor keeps them as it keeps partitions, and needs no plan for them."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        fleet.site.callers = 2
        await up(fleet, 1)
        fleet.silent.add("calls/0")
        await desk.clock.advance(SILENT * 2)
        assert fleet.replaced == ["calls/0"]

        fleet.site.callers = 1
        await desk.clock.advance(STRANGE + 10)
        assert await fleet.names() & BOTH == {"calls/0"}
        assert await state_of(fleet, 4) is CallState.SUCCEEDED


async def test_without_its_store_it_tries_on_and_says_why() -> None:
    """A start that fails is tried again, for as long as it takes; nobody ends its process for that."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        fleet.site.away = StoreUnavailableError("the store is away")
        await fleet.start("calls/0")
        await desk.clock.advance(20)
        status = await fleet.status("calls/0", 1)
        assert status is not None
        assert (status["standing"], status["trouble"]) == ("starting", "WOW-STORE the store is away")

        fleet.site.away = None
        await desk.clock.advance(10)
        assert (await fleet.actors["calls/0"].status())["standing"] == "running"
        assert await state_of(fleet, 1) is CallState.SUCCEEDED


@pytest.mark.parametrize("asked", [False, True])
async def test_down_drains_them_too(asked: bool) -> None:  # noqa: FBT001 - whether one is asked before it has started
    """S48: after `down` nobody is there, nobody is shown, and what was stored waits."""
    desk = Desk()
    async with fleet_of(app, desk) as fleet:
        fleet.site.callers = 2
        await up(fleet, 1)
        if asked:
            await fleet.kill("calls/1")
            await fleet.start("calls/1")
        async with fleet.site.control() as control:
            await passing(fleet, Deployment(fleet.site, fleet, lambda _: None).down(control), 60)
        assert await fleet.names() == frozenset()
        assert {each.partition for each in await fleet.site.client.reports.present()} & BOTH == set()
        assert await state_of(fleet, 5) is CallState.WAITING


def test_their_names_are_no_partitions() -> None:
    """No context may have a slash in it, so none of these is ever a partition's."""
    assert callers_of(2) == BOTH
    assert callers_of(0) == frozenset()
