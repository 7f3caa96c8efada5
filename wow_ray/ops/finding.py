"""Which rows there are, what went wrong with them alike, what waits behind one of them, and who asked for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import repeat

from wow_ray.errors import NotFoundError, OperationError
from wow_ray.failure import Category
from wow_ray.ops.finding_views import ActionPage, ActionView, AlikeView, EventView, Place
from wow_ray.ops.known import Known
from wow_ray.ops.masking import Masked
from wow_ray.ops.progress import SHOWN
from wow_ray.ops.views import AttemptView, Count, ErrorView, HeldView, ParkedDetail, ParkedPage, ParkedView
from wow_ray.policy.parked import OPEN, Reason, Row, State
from wow_ray.ports.event_log import LogReader, StreamWant
from wow_ray.ports.ledger import ActionFilter, Ledger, RowFilter
from wow_ray.ports.overview import Overview

READ_PAGE = 200
"""Rows read at once: each may carry 32 KB of errors."""
MOST_COUNTED = 10_000
"""Rows counted for one answer; above it the count says that it is not exact."""
MOST_HELD = 1_000
"""Held events counted for one row."""
MOST_LISTED = 1_000
DONE_SHOWN, EVENTS_SHOWN = 5, 60
"""Events of an aggregate's stream that are shown: before the stopped one, and in all."""


@dataclass(frozen=True, slots=True)
class ParkedQuery:
    """Which rows are wanted; `None` = any, no state = no row (P12, S30). `after` is the `next` of the page before.

    `error_type` is the whole name of an error's class, `text` a part of that name or of the message.
    """

    states: frozenset[State] = SHOWN
    group: str | None = None
    subscription: str | None = None
    aggregate: str | None = None
    aggregate_id: str | None = None
    reason: Reason | None = None
    fingerprint: str | None = None
    after: str | None = None
    limit: int = 100
    category: Category | None = None
    error_type: str | None = None
    text: str | None = None
    stopped_version: int | None = None
    newest_first: bool = False

    def filter(self) -> RowFilter:
        """Give it in the words of the ledger; raises `OperationError` for a page of no size."""
        if not 1 <= self.limit <= MOST_LISTED:
            raise OperationError(f"limit is {self.limit}; a page has 1 to {MOST_LISTED} rows")
        for name in (
            "group",
            "subscription",
            "aggregate",
            "aggregate_id",
            "fingerprint",
            "after",
            "error_type",
            "text",
        ):
            if is_unstorable(getattr(self, name) or ""):
                raise OperationError(f"{name} holds a NUL or a lone surrogate, which no row holds")
        return RowFilter(
            states=self.states,
            group=self.group,
            subscription=self.subscription,
            aggregate=self.aggregate,
            aggregate_id=self.aggregate_id,
            fingerprint=self.fingerprint,
            after=self.after,
            limit=self.limit,
            reason=self.reason,
            category=self.category,
            error_type=self.error_type,
            text=self.text,
            stopped_version=self.stopped_version,
            newest_first=self.newest_first,
        )


_TEXTS = ("group", "subscription", "aggregate", "aggregate_id", "fingerprint", "after", "error_type", "text")


def is_unstorable(text: str | None) -> bool:
    """Whether a text holds what no database keeps."""
    return text is not None and ("\x00" in text or any("\ud800" <= character <= "\udfff" for character in text))


class Finding:
    """Reads the ledger of one context, and the log where it says what a row holds."""

    def __init__(self, ledger: Ledger, reader: LogReader, overview: Overview, masked: Masked) -> None:
        """Read through these; payloads are shown as `masked` gives them."""
        self._ledger = ledger
        self._reader = reader
        self._overview = overview
        self._masked = masked

    async def page(self, query: ParkedQuery, known: Known) -> ParkedPage:
        """List rows in the order of their ids."""
        wanted, found = query.filter(), list[Row]()
        while len(found) <= query.limit:
            size = min(READ_PAGE, query.limit + 1 - len(found))
            looked = await self._ledger.look(replace(wanted, limit=size))
            found += looked.rows
            if len(looked.rows) < size:
                return ParkedPage(tuple(ParkedView.of(row, known) for row in found), looked.through)
            wanted = replace(wanted, after=looked.rows[-1].id)
        shown = found[: query.limit]
        return ParkedPage(tuple(ParkedView.of(row, known) for row in shown), shown[-1].id)

    async def count(self, query: ParkedQuery) -> Count:
        """Count rows, whatever the query's page, up to `MOST_COUNTED`; by group and state however many."""
        finer = replace(query, states=frozenset(), group=None, after=None, limit=1, newest_first=False)
        if query.states <= OPEN and finer == ParkedQuery(frozenset(), limit=1):
            counts = await self._ledger.counts()
            mine = [n for (group, state), n in counts.items() if state in query.states and query.group in {None, group}]
            return Count(sum(mine), exact=True)
        found = await self._ledger.count(query.filter(), MOST_COUNTED)
        return Count(found.rows, found.exact)

    async def alike(self, query: ParkedQuery, limit: int) -> tuple[AlikeView, ...]:
        """Group rows by the fingerprint of their last error, those of most rows first."""
        if not 1 <= limit <= MOST_LISTED:
            raise OperationError(f"limit is {limit}; 1 to {MOST_LISTED} groups are listed")
        return tuple(map(AlikeView.of, await self._ledger.alike(query.filter(), limit)))

    async def categories(self) -> Mapping[str, int]:
        """Count what people are shown as parked by the category of its last error, the largest first."""
        counts = await self._ledger.categories(SHOWN)
        named = {"none" if each is None else each.value: rows for each, rows in counts.items() if rows}
        return dict(sorted(named.items(), key=lambda one: (-one[1], one[0])))

    async def actions(self, wanted: ActionFilter) -> ActionPage:
        """List what was asked for, the newest first."""
        if not 1 <= wanted.limit <= MOST_LISTED:
            raise OperationError(f"limit is {wanted.limit}; 1 to {MOST_LISTED} actions are listed")
        if any(
            map(
                is_unstorable,
                (wanted.group or "", wanted.aggregate or "", wanted.aggregate_id or "", wanted.actor or ""),
            )
        ):
            return ActionPage((), None)
        found = await self._ledger.actions(replace(wanted, limit=wanted.limit + 1))
        shown = found[: wanted.limit]
        return ActionPage(tuple(map(ActionView.of, shown)), shown[-1].id if len(found) > len(shown) else None)

    async def row(self, row_id: str) -> Row:
        """Give one row, open or ended; raises `NotFoundError`."""
        row = None if is_unstorable(row_id) else await self._ledger.row(row_id)
        if row is None:
            raise NotFoundError(f"there is no row {row_id!r}; see `wow-ray parked list`")
        return row

    async def detail(self, row_id: str, known: Known) -> ParkedDetail:
        """Show one row with everything known about it; raises `NotFoundError`."""
        row = await self.row(row_id)
        return ParkedDetail(
            row=ParkedView.of(row, known),
            backpressure=row.backpressure,
            skip_through=None if row.skip_through is None else f"{row.skip_through[0]}:{row.skip_through[1]}",
            traceback="" if row.failure is None else row.failure.traceback,
            first_cause=ErrorView.of(row.first_cause),
            first_traceback="" if row.first_cause is None else row.first_cause.traceback,
            held=await self._held(row, known),
            history=tuple(map(AttemptView.of, await self._ledger.attempts(row_id))),
        )

    async def stream(self, row_id: str, known: Known, *, payloads: bool) -> tuple[EventView, ...]:
        """Show the aggregate's events around the stopped one, by version and type; what is in them only when asked."""
        row = await self.row(row_id)
        snapshot = await self._overview.snapshot()
        number = next((group.number for group in snapshot.groups if group.name == row.group), None)
        slot = snapshot.slots[row.slot]
        mark = None if number is None else slot.marks.get(number)
        version, sequence = max(1, row.stopped_version - DONE_SHOWN), 0
        want = StreamWant(row.slot, row.aggregate, row.aggregate_id, version, sequence, slot.head)
        (events,) = await self._reader.streams([want], EVENTS_SHOWN)
        held = next((each for each in events if (each.version, each.sequence) >= row.stopped), None)
        bodies = await self._masked.of([(each.type, each.payload) for each in events]) if payloads else repeat(None)
        shown = []
        for event, body in zip(events, bodies, strict=False):
            place: Place = "held"
            if row.state not in OPEN or (event.version, event.sequence) < row.stopped:
                place = "passed"
            elif event is held:
                place = "stopped"
            elif mark is not None and event.position > mark.cursor:
                place = "ahead"
            if place == "held" and not known.wants(row.group, row.aggregate, event.type):
                place = "not_read"
            at = (event.version, event.sequence, event.type, event.revision, event.occurred_at)
            shown.append(EventView(*at, place, body))
        return tuple(shown)

    async def _held(self, row: Row, known: Known) -> HeldView:
        """Count what an open row holds: the group's events from the stopped one up to where the group has read."""
        snapshot = await self._overview.snapshot()
        number = next((group.number for group in snapshot.groups if group.name == row.group), None)
        if row.state not in OPEN or number is None:
            return HeldView(0, None, None, more=False)
        to = snapshot.slots[row.slot].marks[number].cursor
        want = StreamWant(row.slot, row.aggregate, row.aggregate_id, *row.stopped, to)
        (events,) = await self._reader.streams([want], MOST_HELD + 1)
        versions = [event.version for event in events[:MOST_HELD] if known.wants(row.group, row.aggregate, event.type)]
        first, last = (versions[0], versions[-1]) if versions else (None, None)
        return HeldView(len(versions), first, last, more=len(events) > MOST_HELD)
