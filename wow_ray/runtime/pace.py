"""How fast a partition does things: numbers to measure, not law."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How a partition is paced; times in seconds.

    `concurrency` calls at once in all; `commit_interval` and `commit_events` bound what a crash repeats in practice;
    `idle_poll` is the longest wait between two looks at the heads, `intent_poll` that between two looks for intents and
    between two for pauses; `report_interval` is how often it says how it is; `drain_bound` how long a stop waits for
    calls under way before it interrupts them.
    """

    concurrency: int = 64
    commit_interval: float = 0.1
    commit_events: int = 2_000
    idle_poll: float = 0.2
    intent_poll: float = 1.0
    report_interval: float = 2.0
    drain_bound: float = 10.0
