"""The house is swept hour by hour, in small pieces, and nothing depends on it (H53)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from wow_ray.errors import SettingsError, StoreUnavailableError
from wow_ray.policy.parked import State
from wow_ray.ports.retention import Forgotten, Old
from wow_ray.ports.slots import AttemptNote
from wow_ray.runtime.sweeper import EVERY, MOST, Sweeper
from wow_ray.settings import load
from wow_ray.testing.clock import VirtualClock, dice
from wow_ray.testing.contract.memory import MemoryHarness
from wow_ray.testing.contract.rows import Owning, a_failure, owning

DAY = 86_400.0
FOREVER: dict[Old, float | None] = dict.fromkeys(Old)


class Many:
    """A store in which so many old things are left, of which each batch takes a second."""

    def __init__(self, clock: VirtualClock, left: int) -> None:
        self.clock = clock
        self.left = left
        self.times: list[float] = []
        self.away = False

    async def forget(self, what: Old, older_than: float, most: int, after: datetime | None = None) -> Forgotten:
        """Delete some."""
        assert (what, older_than, after) == (Old.ROWS, DAY, None)
        if self.away:
            raise StoreUnavailableError("away")
        self.times.append(self.clock.monotonic())
        await self.clock.sleep(1.0)
        deleted = min(most, self.left)
        self.left -= deleted
        return Forgotten(deleted, deleted == most, None)


def sweeper(remains: Many, calls: float | None = None) -> Sweeper:
    """A sweeper of rows alone."""
    client = MemoryHarness().client
    kept = FOREVER | {Old.ROWS: DAY}
    return Sweeper(remains, client.calls, kept, calls, clock=remains.clock, dice=dice(0.5))


async def test_batches_are_small_and_the_store_rests_between_them() -> None:
    """H53: at most a fifth of the time; each hour, less up to half of one, so that not everybody sweeps at once."""
    clock = VirtualClock()
    many, began = Many(clock, 3 * MOST), clock.monotonic()
    sweeping = asyncio.ensure_future(sweeper(many).run())
    await clock.advance(EVERY * 0.75 + 60)

    assert [at - began for at in many.times] == [EVERY * 0.75 + n * 5.0 for n in range(4)]
    assert many.left == 0
    await clock.advance(EVERY)
    assert len(many.times) == 5
    sweeping.cancel()
    await asyncio.gather(sweeping, return_exceptions=True)


async def test_a_store_that_is_away_is_swept_in_the_next_pass() -> None:
    """H53: nothing waits for it."""
    clock = VirtualClock()
    many = Many(clock, 1)
    many.away = True
    sweeping = asyncio.ensure_future(sweeper(many).run())
    await clock.advance(EVERY)
    many.away = False
    await clock.advance(EVERY)

    assert many.left == 0
    sweeping.cancel()
    await asyncio.gather(sweeping, return_exceptions=True)


async def test_each_kind_is_kept_for_its_own_time_and_what_is_for_ever_for_ever() -> None:
    """H53: history before rows; the rest is not touched."""
    harness = MemoryHarness()
    partition = await owning(harness)
    await resolved(partition, "r-1")
    kept: dict[Old, float | None] = {**FOREVER, Old.ATTEMPTS: DAY, Old.ROWS: 10 * DAY}
    client = harness.client
    one = Sweeper(client.remains, client.calls, kept, None, clock=harness.clock, dice=dice(0.5))
    told = []
    for _ in range(3):
        told.append(dict(await one.sweep()))
        await harness.clock.advance(6 * DAY)

    assert told == [{"attempts": 0, "rows": 0}, {"attempts": 1, "rows": 0}, {"attempts": 0, "rows": 1}]
    assert await client.ledger.row("r-1") is None


def test_what_is_kept_for_how_long_is_a_setting() -> None:
    """H53: the audit for ever unless somebody says otherwise; never less than an hour."""
    kept = load({"retention": {"rows": "forever", "audit": "730d"}}, None, {"WOW_RAY_RETENTION__CALLS": "2h"}).retention

    assert (kept.attempts, kept.rows, kept.audit, kept.notices, kept.calls) == (
        90 * DAY,
        None,
        730 * DAY,
        30 * DAY,
        7_200,
    )
    assert load(None, None, {}).retention.audit is None
    for odd in ("59m", "never", "0s", 7, True):
        with pytest.raises(SettingsError, match=r"retention\.rows"):
            load({"retention": {"rows": odd}}, None, {})


async def resolved(partition: Owning, row_id: str) -> None:
    """Park an aggregate, with one attempt, and let it be resolved."""
    row = partition.row(row_id)
    note = AttemptNote(row_id, "live", partition.now, a_failure())
    await partition.commit(partition.write(rows=(row,), attempts=(note,)))
    await partition.put(replace(row, state=State.RESOLVED, next_due=None, etag=2))
