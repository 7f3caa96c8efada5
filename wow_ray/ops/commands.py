"""What an operator asks of one aggregate: stored as an intent, applied by the slot's owner, waited for (P10, H5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.ops.known import Known
from wow_ray.ops.views import Applied, ParkedView, Pending
from wow_ray.policy.parked import OPEN, Row, Verb
from wow_ray.policy.slots import slot_of
from wow_ray.ports.clock import Clock
from wow_ray.ports.ledger import Intent, Ledger, NewIntent
from wow_ray.ports.overview import Overview

PATIENCE = 5.0
"""Seconds within which a caller is answered (P0)."""
LOOK_AGAIN = 0.05
"""Seconds between two looks whether the owner has applied it."""
MOST_REASON = 1_000
MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class Command:
    """Who asks, and why: both are kept for ever, as the audit.

    `request_id` makes it idempotent: the same one again answers what became of the first (`None` = a new one). `etag`
    is that of the row as it was seen: the command is refused when the row has changed since (`None` = as it is when
    the command is given).
    """

    actor: str
    reason: str
    request_id: str | None = None
    etag: int | None = None


class Commanding:
    """Stores commands and waits for their outcome."""

    def __init__(
        self, context: str, ledger: Ledger, overview: Overview, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        """Work on one context's ledger; `new_id` gives ids of requests."""
        self._context = context
        self._ledger = ledger
        self._overview = overview
        self._clock = clock
        self._new_id = new_id

    async def on_row(
        self, verb: Verb, row_id: str, command: Command, known: Known, through_version: int | None = None
    ) -> Applied | Pending:
        """Ask something of a row; raises `NotFoundError`, `ConflictError` with what is the case instead."""
        check_command(command)
        if command.request_id is not None and (earlier := await self._ledger.intent(command.request_id)) is not None:
            asked = (earlier.request.verb, earlier.request.row_id, earlier.request.through_version)
            return await self._repeated(earlier, known, same=asked == (verb, row_id, through_version))
        row = await self._ledger.row(row_id)
        if row is None:
            raise NotFoundError(f"there is no row {row_id!r}; see `wow-ray parked list`")
        if row.state not in OPEN:
            raise ConflictError(f"ended: the row has ended as {row.state.value}")
        return await self._ask(
            _intent(verb, row, command, through_version, command.request_id or self._new_id()), known
        )

    async def park(
        self, group: str, aggregate: str, aggregate_id: str, command: Command, known: Known
    ) -> Applied | Pending:
        """Park an aggregate of a group on purpose, whether it has a row or not."""
        check_command(command)
        if command.request_id is not None and (earlier := await self._ledger.intent(command.request_id)) is not None:
            asked = (earlier.request.verb, earlier.request.aggregate, earlier.request.aggregate_id)
            return await self._repeated(earlier, known, same=asked == (Verb.PARK, aggregate, aggregate_id))
        slots = len((await self._overview.snapshot()).slots)
        intent = NewIntent(
            request_id=command.request_id or self._new_id(),
            verb=Verb.PARK,
            group=group,
            slot=slot_of(self._context, aggregate, aggregate_id, slots),
            aggregate=aggregate,
            aggregate_id=aggregate_id,
            row_id=None,
            etag=command.etag,
            through_version=None,
            actor=command.actor.strip(),
            reason=command.reason.strip(),
        )
        return await self._ask(intent, known)

    async def reset(self, group: str, command: Command, known: Known) -> Applied | Pending:
        """Let a projection's group begin anew (L6); the host of all partitions carries it out."""
        check_command(command)
        if command.request_id is not None and (earlier := await self._ledger.intent(command.request_id)) is not None:
            asked = (earlier.request.verb, earlier.request.group)
            return await self._repeated(earlier, known, same=asked == (Verb.RESET, group))
        intent = NewIntent(
            request_id=command.request_id or self._new_id(),
            verb=Verb.RESET,
            group=group,
            slot=0,
            aggregate="",
            aggregate_id="",
            row_id=None,
            etag=None,
            through_version=None,
            actor=command.actor.strip(),
            reason=command.reason.strip(),
        )
        return await self._ask(intent, known)

    async def _repeated(self, earlier: Intent, known: Known, *, same: bool) -> Applied | Pending:
        """Answer a request that was made before under the same id."""
        if not same:
            text = f"request id {earlier.request.request_id!r} was used for another command; take a new one"
            raise ConflictError(f"request_id: {text}")
        return await self._answer(earlier, known)

    async def _ask(self, intent: NewIntent, known: Known) -> Applied | Pending:
        """Store the intent, then answer."""
        return await self._answer(await self._ledger.ask(intent), known)

    async def _answer(self, intent: Intent, known: Known) -> Applied | Pending:
        """Wait until the owner has applied it, `PATIENCE` at most; raises what it was refused with."""
        until = self._clock.monotonic() + PATIENCE
        while intent.state == "asked" and self._clock.monotonic() < until:
            await self._clock.sleep(LOOK_AGAIN)
            intent = await self._ledger.intent(intent.request.request_id) or intent
        request = intent.request
        match intent.state:
            case "done":
                row = await self._ledger.row(str(intent.outcome.get("row", request.row_id or "")))
                view = None if row is None else ParkedView.of(row, known)
                return Applied(request.request_id, request.verb, view, intent.outcome, intent.asked_at, intent.ended_at)
            case "refused":
                error = NotFoundError if intent.code == "not_found" else ConflictError
                raise error(f"{intent.code}: {intent.text}")
            case "asked":
                return Pending(request.request_id, request.verb, intent.asked_at, await self._why_pending(request.slot))

    async def _why_pending(self, number: int) -> str:
        """Say what the command waits for, as far as the store tells."""
        snapshot = await self._overview.snapshot()
        slot = snapshot.slots[number]
        alive = any(owner.id == slot.owner and owner.lease_left > 0 for owner in snapshot.owners)
        if alive:
            return (
                f"{slot.partition} owns slot {number}; it is applied when a call of the aggregate under way has ended"
            )
        return f"nobody owns slot {number} now; it is applied when a program runs again"


def _intent(verb: Verb, row: Row, command: Command, through_version: int | None, request_id: str) -> NewIntent:
    """Make the intent on a row as it is now."""
    return NewIntent(
        request_id=request_id,
        verb=verb,
        group=row.group,
        slot=row.slot,
        aggregate=row.aggregate,
        aggregate_id=row.aggregate_id,
        row_id=row.id,
        etag=row.etag if command.etag is None else command.etag,
        through_version=through_version,
        actor=command.actor.strip(),
        reason=command.reason.strip(),
    )


def check_command(command: Command) -> None:
    """Refuse a command without a name or a reason, or with one that cannot be kept."""
    for what, text, most in (("actor", command.actor, MOST_NAME), ("reason", command.reason, MOST_REASON)):
        if not text.strip():
            raise OperationError(f"the {what} is empty; it is kept as the audit of who asked and why")
        if len(text) > most:
            raise OperationError(f"the {what} has {len(text)} characters; {most} are kept")
        _check_text(what, text)
    if command.request_id is not None:
        if not command.request_id.strip() or len(command.request_id) > MOST_NAME:
            raise OperationError(f"a request id has 1 to {MOST_NAME} characters")
        _check_text("request_id", command.request_id)


def _check_text(what: str, text: str) -> None:
    """Refuse what no database keeps."""
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise OperationError(f"{what} holds a NUL or a lone surrogate, which cannot be stored")
