"""How a group is at present, in all partitions and in each, as `wow-ray subscriptions` writes it."""

from __future__ import annotations

from rich.console import Console

from wow_ray.cli.looking import rates, seen
from wow_ray.cli.shown import moment, table, times
from wow_ray.ops import LiveGroup, LivePart, LivePause


def state_cells(live: LiveGroup | None) -> tuple[str, str, str]:
    """Write the state, and where it is so when not everywhere; calls under way of the limit; rates."""
    if live is None:
        return "", "", ""
    where = "" if len(live.where) == len(live.parts) else f" in {', '.join(live.where)}"
    return f"{live.state}{where}", _limit(live), rates(live.rate, live.failed_rate)


def state_facts(live: LiveGroup | None) -> list[tuple[str, str]]:
    """Write the state and everything that explains it."""
    if live is None:
        return [("state", "no partition says anything of it")]
    state, limit, rate = state_cells(live)
    limited = ", ".join(live.limited)
    return [
        ("state", f"{state}: {live.why}" if live.why else state),
        ("probing", "" if live.pause is None else _pause(live.pause)),
        ("calls", f"{limit} at once{f' ({limited})' if limited else ''}, {rate}"),
        ("failing", times(live.failing, "aggregate") if live.failing else ""),
        ("since start", f"{live.handled:,} handled, {live.failed:,} failed, {live.parked:,} parked"),
        ("seen", seen(live.age)),
    ]


def show_parts(live: LiveGroup | None, page: Console) -> None:
    """Write one line for each partition."""
    if live is None:
        return
    page.print()
    table(
        page,
        ("PARTITION", "STATE", "WHY", "CALLS", "RATE", "FAILING", "WAITING", "OPEN", "LAG", "SEEN"),
        [
            (
                part.partition,
                part.state,
                _why(part),
                _limit(part),
                rates(part.rate, part.failed_rate),
                f"{part.failing:,}",
                f"{part.waiting:,}",
                f"{part.open:,}",
                f"{part.lag:,}",
                seen(part.age),
            )
            for part in live.parts
        ],
    )


def _limit(live: LiveGroup | LivePart) -> str:
    """Write calls under way of those that may be, and of how many there might be."""
    return f"{live.running} of {live.limit}" + (f", share {live.share}" if live.limit < live.share else "")


def _why(part: LivePart) -> str:
    """Write why a part is as it is, with its next probe."""
    return part.why if part.pause is None or part.state != "paused" else f"{part.why}; {_pause(part.pause)}"


def _pause(pause: LivePause) -> str:
    """Write since when, when the next probe is, and what the last one ended in."""
    last = f", the last ended in {pause.last_probe_error}" if pause.last_probe_error else ""
    needed = f", {pause.healthy_needed} healthy aggregates needed" if pause.healthy_needed > 1 else ""
    failed = f", {times(pause.probes_failed, 'probe')} failed{last}" if pause.probes_failed else ""
    return f"{pause.why} since {moment(pause.since)}, next probe {moment(pause.next_probe)}{failed}{needed}"
