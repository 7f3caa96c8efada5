"""What happened, in figures, handler by handler."""

from collections import Counter
from collections.abc import Sequence

from examples.shop.demo.day import Day

COLUMNS = ("handler", "events", "calls", "failed", "cut off", "repeats", "parked", "resumed", "skipped", "pids")


def title(day: Day, events: int) -> str:
    """Say how much it was, and how fast."""
    calls, seconds = day.witness.calls.total(), day.seconds
    return (
        f"What happened: {events:,} events and {calls:,} calls in {seconds:.1f} s, "
        f"{events / seconds:,.0f} events/s, {calls / seconds:,.0f} calls/s"
    )


def rows(day: Day) -> Sequence[Sequence[str | int]]:
    """Give one row for each handler, then their sum.

    `cut off` are calls that were under way when their process was killed, `pids` the processes that made the calls.
    """
    witness, wanted = day.witness, day.plan.wanted()
    repeats = Counter(each.first.subscription for each in witness.repeats)
    skipped = Counter(subscription for subscription, _ in day.skipped)
    table = [
        (
            wanted[name],
            witness.calls[name],
            witness.failed[name],
            witness.calls[name] - witness.ended[name],
            repeats[name],
            day.parked[name],
            day.resumed[name],
            skipped[name],
        )
        for name in wanted
    ]
    sums = [sum(column) for column in zip(*table, strict=True)]
    everybody = set().union(*witness.processes.values())
    return [
        *((name, *figures, len(witness.processes[name])) for name, figures in zip(wanted, table, strict=True)),
        ("all", *sums, len(everybody)),
    ]
