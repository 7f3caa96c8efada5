"""What is decided stands in the log by field, not only in a sentence (P13)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.ops_window import GROUP, Window, a_window
from wow_ray.runtime.rows import FIELDS


def fields(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    """Give the fields of all records of an event; each is plain JSON."""
    found = [record.__dict__[FIELDS] for record in caplog.records if FIELDS in record.__dict__]
    assert json.loads(json.dumps(found)) == found
    return [each for each in found if each["event"] == event]


async def test_a_park_and_a_resume_say_what_was_decided(caplog: pytest.LogCaptureFixture) -> None:
    """P4: the row's own values; no text of an error, which the line has."""
    caplog.set_level("INFO")
    async with a_window() as window:
        (row,) = await window.park("o-1")
        window.carrier.broken.clear()
        await window.ask(f"/api/v1/parked/{row['id']}/resume", {"etag": row["etag"], "reason": "back"})
        await window.running.advance("1s")

    (parked,) = fields(caplog, "parked")
    assert (parked["group"], parked["aggregate"], parked["aggregate_id"]) == (GROUP, "order", "o-1")
    assert (parked["row"], parked["version"], parked["sequence"]) == (row["id"], 1, 0)
    assert (parked["reason"], parked["category"], parked["error_type"]) == ("budget_spent", "recoverable", "ValueError")
    assert (parked["state"], parked["attempts"], parked["fingerprint"]) == ("parked", 2, row["error"]["fingerprint"])
    assert [len(fields(caplog, event)) for event in ("resumed", "resolved")] == [1, 1]


async def test_a_pause_and_its_end_say_why(caplog: pytest.LogCaptureFixture) -> None:
    """D3: which group, for what, and how it ended."""
    async with a_window() as window:
        window.carrier.away = True
        await window.place("o-1", "o-2", "o-3")
        window.carrier.away = False
        await settled(window)

    (paused, *_), (over, *_) = fields(caplog, "paused"), fields(caplog, "unpaused")
    assert (paused["group"], paused["reason"], paused["error_type"]) == (GROUP, "systemic", "ConnectionRefusedError")
    assert (over["group"], over["reason"], over["by"]) == (GROUP, "systemic", "probe")


async def settled(window: Window) -> None:
    """Let the pause be over."""
    await window.running.advance("30s")
