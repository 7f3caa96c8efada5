"""Writing what owners have to say: one transaction, begun by the guard, every part of which may be sent again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from wow_ray.adapters.postgres.connect import Session
from wow_ray.adapters.postgres.rows import attempts_json, intents_json, rows_json
from wow_ray.adapters.postgres.telling import Told, tell
from wow_ray.errors import FencedError, StoreDataError
from wow_ray.policy.parked import OPEN, Row
from wow_ray.policy.progress import pack
from wow_ray.ports.slots import AttemptNote, SlotWrite

KEPT_ATTEMPTS = 100
"""How many attempts of one row are kept as its history, the newest."""


async def write_all(session: Session, writes: Sequence[SlotWrite]) -> datetime:
    """Write everything within the open transaction; answers the store's time.

    Raises `FencedError` naming the slots that have a newer owner; the caller rolls back.
    """
    now = await _guard(session, writes)
    await session.fetch("progress", [write.slot for write in writes], [_packed(write) for write in writes])
    folded = [(write.slot, group, position) for write in writes for group, position in write.folded]
    if folded:
        await session.fetch("fold", *map(list, zip(*folded, strict=True)))
    await _put_trying(session, writes)
    await _put_rows(session, writes)
    await _tell(session, writes)
    return now


async def _guard(session: Session, writes: Sequence[SlotWrite]) -> datetime:
    """Lock the slots' rows at our epochs, in slot order (H1)."""
    rows = await session.fetch("guard", [write.slot for write in writes], [write.epoch for write in writes])
    ours = {row["slot"] for row in rows}
    lost = tuple(sorted(write.slot for write in writes if write.slot not in ours))
    if lost or not rows:
        msg = f"slots {', '.join(map(str, lost))} have a newer owner; nothing was written"
        raise FencedError(msg, lost)
    now: datetime = rows[-1]["now"]
    return now


def _packed(write: SlotWrite) -> bytes:
    """Pack a slot's marks; raises `StoreDataError` for one that is none."""
    try:
        return pack(write.marks)
    except ValueError as error:
        msg = f"the marks of slot {write.slot} cannot be stored: {error}"
        raise StoreDataError(msg) from error


async def _put_trying(session: Session, writes: Sequence[SlotWrite]) -> None:
    """Write what is marked, where that has changed; nothing is, while all is well."""
    anew = [write for write in writes if write.trying is not None]
    if not anew:
        return
    await session.fetch("forget_trying", [write.slot for write in anew])
    marked = [
        (write.slot, one.group, one.position, one.charges, one.trying) for write in anew for one in write.trying or ()
    ]
    if marked:
        await session.fetch("put_trying", *map(list, zip(*marked, strict=True)))


async def _put_rows(session: Session, writes: Sequence[SlotWrite]) -> None:
    """Write rows and history: rows that end first, since the same aggregate may stop again in the same batch."""
    rows: dict[str, Row] = {row.id: row for write in writes for row in write.rows}
    ending = [row for row in rows.values() if row.state not in OPEN]
    open_ = [row for row in rows.values() if row.state in OPEN]
    for part in (ending, open_):
        if part:
            await session.fetch("put_rows", rows_json(part))
    notes: list[AttemptNote] = [note for write in writes for note in write.attempts]
    if notes:
        await session.fetch("add_attempts", attempts_json(notes))
        await _trim(session, rows, notes)


async def _trim(session: Session, rows: Mapping[str, Row], notes: Sequence[AttemptNote]) -> None:
    """Keep the newest attempts only; where many are parked each row is new and has one, and nothing is looked for."""
    noted = Counter(note.row_id for note in notes)
    long = [each for each, times in noted.items() if times > 1 or each not in rows or rows[each].etag > 1]
    if long:
        await session.fetch("trim_attempts", sorted(long), KEPT_ATTEMPTS)


async def _tell(session: Session, writes: Sequence[SlotWrite]) -> None:
    """Write how intents ended and what people are told; that comes last, since numbering it locks out other commits."""
    done = [one for write in writes for one in write.intents]
    if done:
        await session.fetch("end_intents", intents_json(done))
    notices = [notice for write in writes for notice in write.notices]
    await tell(session, [Told(each.kind, each.row.id, each.row.etag, each.after) for each in notices])
    reopened = [each for write in writes for each in write.reopened]
    if reopened:
        await session.fetch("withdraw_notices", *map(list, zip(*reopened, strict=True)))
