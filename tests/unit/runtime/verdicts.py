"""What a failure was taken for, told by what happened next: `outcome_of` runs one live attempt that fails."""

from __future__ import annotations

from typing import Literal

from tests.unit.runtime.desk import Desk, paid, scenario
from wow_ray import App

Taken = Literal["unrecoverable", "recoverable", "contention", "systemic", "backpressure"]

SETTINGS = {"subscription": {"systemic": {"initial_probe": "300ms"}}}
NEXT_CALL: dict[float, Taken] = {0.1: "recoverable", 0.075: "contention", 0.15: "backpressure", 0.225: "systemic"}
"""With dice at 0.5: 100 ms as they are, or three quarters of 100 ms, of 200 ms, of 300 ms."""


async def outcome_of(app: App, error: BaseException) -> Taken:
    """Let a handler of the app raise the error once; answer what it was taken for.

    An outage also keeps another aggregate from being called, anything else does not.
    """
    desk = Desk()
    desk.next("A", error)
    async with scenario(app, desk, settings=SETTINGS, slots=1) as running:
        await paid(running, "A", "B")
        await running.advance("10ms")
        held_up = not desk.times("B")
        await running.advance("2s")
        parked = [row.reason for row in await running.parked()]
    if parked:
        assert parked == ["unrecoverable"]
        assert desk.waits("A") == []
        return "unrecoverable"
    taken = NEXT_CALL[desk.waits("A")[0]]
    assert held_up == (taken == "systemic")
    return taken
