"""How many events of a group are open at most, however long its aggregates wait (P5, L2)."""

from __future__ import annotations

from tests.unit.runtime.desk import BadParcel, Desk, paid, scenario
from tests.unit.runtime.shop import app
from wow_ray.runtime.group import WINDOW
from wow_ray.runtime.ranges import PAGE


async def test_waiting_aggregates_hold_no_more_than_w_events_and_stop_the_feed_no_earlier_than_a_page_before() -> None:
    """P5, L2: every aggregate waits for its next attempt; so long nothing is settled, and no more is read than that."""
    desk = Desk()
    ids = [f"o-{number}" for number in range(WINDOW + PAGE // 2)]
    for each in ids:
        desk.always(each, BadParcel())
    async with scenario(app, desk, slots=1) as running:
        (group,) = running.service.partitions[0].groups.values()
        await paid(running, *ids)
        await running.advance("1s")
        assert group.parked == 0
        assert WINDOW - PAGE <= group.open <= WINDOW
