"""What happened, in figures, handler by handler."""

from collections import Counter
from collections.abc import Sequence

from examples.shop.demo.day import Day

COLUMNS = ("handler", "events", "calls", "failed", "retries", "parked", "resumed", "skipped", "repeats")


def title(day: Day, events: int) -> str:
    """Say how much it was, and how fast."""
    calls, seconds = day.witness.calls.total(), day.seconds
    return (
        f"What happened: {events:,} events and {calls:,} calls in {seconds:.1f} s, "
        f"{events / seconds:,.0f} events/s, {calls / seconds:,.0f} calls/s"
    )


def rows(day: Day) -> Sequence[Sequence[str | int]]:
    """Give one row for each handler, then their sum; `retries` are calls after the first of an event."""
    witness, wanted, begun = day.witness, day.plan.wanted(), day.witness.begun
    skipped = Counter(subscription for subscription, _ in day.skipped)
    table = [
        (
            wanted[name],
            witness.calls[name],
            witness.failed[name],
            witness.calls[name] - begun[name] - witness.repeats[name],
            day.parked[name],
            day.resumed[name],
            skipped[name],
            witness.repeats[name],
        )
        for name in wanted
    ]
    sums = [sum(column) for column in zip(*table, strict=True)]
    return [*((name, *figures) for name, figures in zip(wanted, table, strict=True)), ("all", *sums)]
