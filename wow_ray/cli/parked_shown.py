"""How parked aggregates are written for people: lists, groups of errors, counts, one row, what became of a command."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from wow_ray.cli.shown import facts, harmless, moment, table, times
from wow_ray.ops import Applied, Count, ParkedDetail, ParkedView, Pending
from wow_ray.ops.finding_views import AlikeView, EventView
from wow_ray.ops.views import View


@dataclass(frozen=True, slots=True)
class Listing(View):
    """A page of rows, and how many there are on all pages; not `exact` = at least so many."""

    rows: tuple[ParkedView, ...]
    next: str | None
    total: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Groups(View):
    """Errors that are alike."""

    groups: tuple[AlikeView, ...]


@dataclass(frozen=True, slots=True)
class Events(View):
    """The events around a row's."""

    events: tuple[EventView, ...]


def show_groups(found: Groups, page: Console) -> None:
    """Write one line for each kind of error."""
    if not found.groups:
        page.print("nothing is parked that fits")
        return
    rows = [
        (
            str(each.rows),
            each.category or "",
            f"{each.type}: {each.message}" if each.fingerprint else "none: parked on purpose",
            each.subscription,
            moment(each.first_seen),
            moment(each.last_seen),
            each.fingerprint or "",
        )
        for each in found.groups
    ]
    table(page, ("ROWS", "CATEGORY", "ERROR", "HANDLER", "FIRST", "LAST", "FINGERPRINT"), rows)


def show_count(found: Count, page: Console) -> None:
    """Write how many there are."""
    page.print(f"{'' if found.exact else 'at least '}{times(found.rows, 'row')}")


def show_events(found: Events, page: Console) -> None:
    """Write one line for each event, and what is in it."""
    rows = [
        (
            f"{each.version}:{each.sequence}",
            each.type,
            each.place,
            moment(each.occurred_at),
            each.payload or "",
        )
        for each in found.events
    ]
    table(page, ("VERSION", "TYPE", "PLACE", "WHEN", "PAYLOAD"), rows)


def show_page(found: Listing, page: Console) -> None:
    """Write one line for each row, and how many there are."""
    if found.rows:
        table(page, ("ID", "GROUP", "AGGREGATE", "STATE", "WHY", "STOPPED", "NEXT", "ERROR"), map(_line, found.rows))
    for note in dict.fromkeys(row.note for row in found.rows if row.note):
        page.print(f"note: {harmless(note)}")
    total = f"{'' if found.exact else 'at least '}{found.total:,}"
    more = "" if found.next is None else f"; more: --after {found.next}"
    page.print(f"{len(found.rows):,} of {total}{more}")


def show_detail(detail: ParkedDetail, page: Console) -> None:
    """Write everything about one row."""
    row, held = detail.row, detail.held
    through = "" if held.through_version is None else f", versions {held.from_version} to {held.through_version}"
    facts(
        page,
        [
            ("row", f"{row.id}, etag {row.etag}"),
            ("aggregate", f"{row.aggregate}/{row.aggregate_id} in slot {row.slot}"),
            ("handler", f"{row.subscription} of group {row.group}"),
            ("state", f"{row.state}, for {row.reason}, since {moment(row.parked_at)}"),
            ("next", moment(row.next_due)),
            ("stopped at", f"{row.stopped_at} after {times(row.attempts, 'attempt')} and {row.retries} parked retries"),
            ("held", f"{'more than ' if held.more else ''}{times(held.events, 'event')}{through}"),
            ("skipping", "" if detail.skip_through is None else f"through {detail.skip_through}"),
            ("note", row.note),
            ("error", _error(row)),
            (
                "first error",
                "" if detail.first_cause is None else f"{detail.first_cause.type}: {detail.first_cause.message}",
            ),
        ],
    )
    if detail.traceback:
        page.print(Text("\n" + harmless(detail.traceback.rstrip(), lines=True)))
    if detail.history:
        page.print()
        table(
            page,
            ("WHEN", "KIND", "ERROR"),
            [
                (moment(each.at), each.kind, "" if each.error is None else f"{each.error.type}: {each.error.message}")
                for each in detail.history
            ],
        )


def show_answer(answer: Applied | Pending, page: Console) -> None:
    """Write what became of a command."""
    match answer:
        case Pending(request_id, verb, _, note):
            page.print(f"accepted, not applied yet: {verb.value}; {note} (request {harmless(request_id)})")
        case Applied(_, verb, row, outcome):
            page.print(
                f"done: {verb.value}{'' if row is None else f' of {row.aggregate}/{harmless(row.aggregate_id)}'}"
            )
            if (skipped := outcome.get("skipped")) is not None:
                first, last = outcome.get("from_version"), outcome.get("through_version")
                page.print(f"passed over: {times(int(skipped), 'event')}, versions {first} to {last}")
            if row is not None:
                page.print(f"it is {row.state} at {row.stopped_at} (row {row.id}, etag {row.etag})")


def _line(row: ParkedView) -> tuple[str, ...]:
    """Write a row in one line."""
    next_ = moment(row.next_due)
    return (
        row.id,
        row.group,
        f"{row.aggregate}/{row.aggregate_id}",
        row.state,
        row.reason,
        row.stopped_at,
        next_,
        _error(row),
    )


def _error(row: ParkedView) -> str:
    """Write a row's error, nothing when it has none."""
    return "" if row.error is None else f"{row.error.type}: {row.error.message}"
