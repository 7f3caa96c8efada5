"""The log as the server holds it: committed events by slot and by stream, and transactions that are not committed yet.

An open transaction holds the slots it has appended to, so that positions become visible in order and a rolled-back one
leaves no hole (L4): others wait, as they would for the row lock on the slot's head.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from wow_ray.adapters.encoding import EncodedCommit
from wow_ray.errors import AppendError, ConcurrencyError
from wow_ray.events import Commit, StoredEvent
from wow_ray.policy.slots import slot_of

Stream = tuple[str, str]
CommitKey = tuple[Stream, str]


class Log:
    """All committed events of one store."""

    def __init__(self, context: str, slots: int) -> None:
        self.context = context
        self.slots = slots
        self.timeline = 1
        self.events: dict[int, list[StoredEvent]] = {}
        self.streams: dict[Stream, list[StoredEvent]] = {}
        self.commits: dict[CommitKey, Commit] = {}
        self._held: dict[int, Appending] = {}
        self._released: list[asyncio.Future[None]] = []
        self._slot_of: dict[Stream, int] = {}

    def slot_of(self, stream: Stream) -> int:
        """Give the stream's slot."""
        slot = self._slot_of.get(stream)
        if slot is None:
            slot = self._slot_of[stream] = slot_of(self.context, *stream, self.slots)
        return slot

    def head(self, slot: int) -> int:
        """Give the slot's last committed position, 0 = empty."""
        return len(self.events.get(slot, ()))

    def heads(self) -> dict[int, int]:
        """Give the last position of every slot, as one cut."""
        return {slot: self.head(slot) for slot in range(self.slots)}

    async def hold(self, slots: Iterable[int], holder: Appending) -> None:
        """Take the slots for a transaction, all at once, waiting while another one holds any of them."""
        wanted = frozenset(slots)
        while any(slot in self._held for slot in wanted):
            released: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._released.append(released)
            await released
        self._held.update(dict.fromkeys(wanted, holder))

    def let_go(self, holder: Appending) -> None:
        """Give up what the transaction held, and wake those who wait."""
        self._held = {slot: other for slot, other in self._held.items() if other is not holder}
        waiting, self._released = self._released, []
        for released in waiting:
            if not released.done():
                released.set_result(None)

    def rewind(self, slot: int, to: int) -> None:
        """Forget what lies above a position, as a server that was restored; a new timeline begins."""
        self.timeline += 1
        for event in self.events.get(slot, [])[to:]:
            self.streams[event.aggregate, event.aggregate_id].remove(event)
        del self.events.get(slot, [])[to:]
        self.commits = {
            key: commit for key, commit in self.commits.items() if commit.slot != slot or commit.positions[-1] <= to
        }


class Appending:
    """What one transaction appends: invisible until `publish`; `failed` when all that is left is to abandon it."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._events: dict[int, list[StoredEvent]] = {}
        self._versions: dict[Stream, int] = {}
        self._commits: dict[CommitKey, Commit] = {}
        self._holds = False
        self.failed = False

    async def append(self, commits: Sequence[EncodedCommit], now: Callable[[], datetime]) -> tuple[Commit, ...]:
        """Stage the commits in order; answers in the order asked.

        Raises `ConcurrencyError`, and `AppendError` for a second call in one transaction: it would take its slots in
        another order than a third party does, and both would wait for ever (H36).
        """
        log = self._log
        if self._holds:
            self.failed = True
            msg = "this transaction has appended already; append to several aggregates with one append_many"
            raise AppendError(msg)
        self._holds = True
        await log.hold((log.slot_of((commit.ref.aggregate, commit.ref.id)) for commit in commits), self)
        at = now()
        try:
            return tuple(self._staged(commit, at) for commit in commits)
        except ConcurrencyError:
            self.failed = True
            raise

    def publish(self) -> None:
        """Make everything visible, in one step."""
        log = self._log
        for slot, events in self._events.items():
            log.events.setdefault(slot, []).extend(events)
            for event in events:
                log.streams.setdefault((event.aggregate, event.aggregate_id), []).append(event)
        log.commits.update(self._commits)
        self.abandon()

    def abandon(self) -> None:
        """Forget what is not published, and let the slots go."""
        self._events, self._versions, self._commits, self._holds = {}, {}, {}, False
        self._log.let_go(self)

    def _staged(self, commit: EncodedCommit, now: datetime) -> Commit:
        """Stage one commit, or find the one its `commit_id` has already made."""
        stream = (commit.ref.aggregate, commit.ref.id)
        key = None if commit.commit_id is None else (stream, commit.commit_id)
        if key is not None:
            known = self._log.commits.get(key) or self._commits.get(key)
            if known is not None:
                return known
        version = self._next_version(stream, commit)
        slot = self._log.slot_of(stream)
        staged = self._events.setdefault(slot, [])
        base = self._log.head(slot) + len(staged)
        staged.extend(_rows(commit, slot, base, version, now))
        self._versions[stream] = version
        done = Commit(commit.ref, version, slot, tuple(range(base + 1, base + 1 + len(commit.events))))
        if key is not None:
            self._commits[key] = done
        return done

    def _next_version(self, stream: Stream, commit: EncodedCommit) -> int:
        """Give the version the commit makes; raises `ConcurrencyError` when it expected another one before."""
        committed = self._log.streams.get(stream)
        actual = self._versions.get(stream) or (committed[-1].version if committed else 0)
        if commit.expected_version is not None and commit.expected_version != actual:
            msg = f"{commit.ref} is at version {actual}, and {commit.expected_version} was expected"
            raise ConcurrencyError(msg, commit.expected_version, actual)
        return actual + 1


def _rows(commit: EncodedCommit, slot: int, base: int, version: int, now: datetime) -> Iterable[StoredEvent]:
    """Make the rows of one commit, above position `base`."""
    for sequence, event in enumerate(commit.events):
        yield StoredEvent(
            slot,
            base + 1 + sequence,
            commit.ref.aggregate,
            commit.ref.id,
            version,
            sequence,
            event.type,
            event.revision,
            commit.scope.tenant_id,
            commit.scope.owner_id,
            event.payload,
            commit.headers,
            now,
        )
