"""Another release takes over from the one that runs, on Ray, while events come; or it does not start (L7, H19)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cluster.lab import Lab, lab_of
from tests.cluster.test_kills import load
from tests.waiting import until
from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.adapters.clock import monotonic
from wow_ray.errors import WowError


@pytest.fixture
async def first(ray_session: str, modules: Path) -> AsyncIterator[Lab]:
    """An app's first release."""
    async with lab_of(ray_session, modules, release=1) as lab:
        yield lab


async def parked(lab: Lab) -> set[tuple[str, str, int]]:
    """Give who is parked where, after how many attempts."""
    rows = [row for row in await lab.rows() if row["state"] == "parked"]
    return {(row["subscription"], row["aggregate_id"], row["attempts"]) for row in rows}


async def test_a_release_takes_over_under_load_and_one_that_does_not_start_does_not(first: Lab, modules: Path) -> None:
    """S12, S34, H19: events come all the time, and the supervisor is killed while slots move.

    Nothing is lost, reordered or handled twice. The new budget holds from then on; the row of a handler that is gone
    stays and says so; a new projection catches up beside the live flow. A release whose module cannot be imported
    leaves the second one running and says why.
    """
    lab = first
    await lab.up(2)
    await lab.broken("bad-1", "bad-2")
    await lab.paid("bad-1")
    both = {("Notifier.on_paid", "bad-1", 4), ("Teller.on_paid", "bad-1", 4)}

    async def both_parked() -> bool:
        return await parked(lab) == both

    await until(both_parked, "an aggregate to be parked for both handlers", seconds=30)
    stop = asyncio.Event()
    loading = asyncio.ensure_future(load(lab, stop))
    text = f"from tests.cluster.shop import make\n\napp = make({lab.site.context!r}, {lab.schema!r}, release=%d)\n"
    second = lab.release(modules, "r2", text % 2)

    began = monotonic()
    rolling = asyncio.ensure_future(second.up(lab.control, 2))

    async def flipped() -> bool:
        plan = await lab.control.plans.present()
        return plan is not None and plan.release == "r2"

    await until(flipped, "the plan of the second release", seconds=60)
    ready = monotonic()

    async def supervised() -> bool:
        return (await lab.standing(SUPERVISOR)).get("release") == "r2"

    await until(supervised, "the second release's supervisor", seconds=30)
    before = await lab.kill(SUPERVISOR)
    lab.plan = await rolling
    over = monotonic()
    await lab.anew(SUPERVISOR, before)
    moves = [(await lab.standing(name))["moves"] for name in lab.plan.partitions]
    broken = lab.release(modules, "r3", "import a_module_that_is_not_there\n")
    with pytest.raises(WowError, match="Release r2 runs on as before") as raised:
        await broken.up(lab.control, 2)
    await lab.paid("bad-2")

    async def second_budget() -> bool:
        return ("Notifier.on_paid", "bad-2", 2) in await parked(lab)

    await until(second_budget, "an aggregate to be parked after two attempts", seconds=30)
    stop.set()
    await loading
    bad = ("bad-1", "bad-2")
    await lab.all_done(but=bad)
    await lab.all_done("Sums.on_paid")

    figures = await lab.figures(but=bad)
    took = max(each["took"] for each in moves)
    sys.stderr.write(f"\nready in {ready - began:.1f} s, over in {over - ready:.1f} s, took {took:.2f} s: {figures}\n")
    healthy = [(call["id"], call["version"]) for call in await lab.calls() if call["id"] not in bad]
    assert (figures.lost, figures.out_of_order) == (0, 0)
    assert len(healthy) == len(set(healthy))
    assert "a_module_that_is_not_there" in raised.value.message
    assert await lab.fleet.names() == {SUPERVISOR, LEDGER, *lab.plan.partitions}
    assert [each.removeprefix(lab.site.context) for each in lab.plan.partitions] == ["-2", "-3"]
    status = await lab.operations.status()
    assert (status.release, {each.live.release for each in status.partitions if each.live}) == ("r2", {"r2"})
    (teller,) = [row for row in await lab.rows() if row["subscription"] == "Teller.on_paid"]
    detail = await lab.operations.parked_row(teller["id"])
    assert (teller["state"], detail.row.missing is not None, "Teller" in detail.row.note) == ("parked", True, True)
