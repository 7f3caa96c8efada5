"""Owning slots and committing what their owner did.

One locked row per slot is fence and checkpoint at once (H1, H45): every write begins by locking the slots' rows at
the owner's epochs, and a slot that does not come back is somebody else's by now, so nothing is written. Acquiring
raises the epoch and, in a later statement of the same transaction, loads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from wow_ray.failure import Failure
    from wow_ray.policy.parked import Row
    from wow_ray.policy.progress import Mark
    from wow_ray.policy.suspicion import Start, Trying


@dataclass(frozen=True, slots=True)
class Owner:
    """One incarnation of a partition.

    `id` is new at each start; `partition` is its lasting name. Host, pid and start time of the process let a
    successor on the same host see that it is dead without waiting for its lease (H8); `process_started` is `None`
    where the system does not tell.
    """

    id: str
    partition: str
    host: str
    pid: int
    process_started: float | None


@dataclass(frozen=True, slots=True)
class GroupDeclared:
    """A group as the program declares it: where it starts, the names it had, its subscriptions with theirs."""

    name: str
    kind: str
    start: Literal["beginning", "end"]
    aliases: tuple[str, ...] = ()
    subscriptions: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class GroupRegistered:
    """A group as the store knows it; `first_names`: what each present subscription was first registered as (H28)."""

    number: int
    name: str
    first_names: dict[str, str]


@dataclass(frozen=True, slots=True)
class SlotLoaded:
    """What a new owner finds in one slot.

    `marks` by group number, for every group known to the store (a group without progress of its own stands at its
    registered start); `settled` are positions of effectively-once calls not yet folded, by group number; `held` are
    the open rows' (group name, aggregate, aggregate id); `live` are the rows that go on by themselves: `waiting` and
    `retrying`. `trying` is what the former owner marked, as it left it; `crashed`: that owner's process died (P15).
    """

    slot: int
    epoch: int
    marks: dict[int, Mark]
    settled: dict[int, frozenset[int]]
    held: tuple[tuple[str, str, str], ...]
    live: tuple[Row, ...]
    trying: tuple[Trying, ...] = ()
    crashed: bool = False


@dataclass(frozen=True, slots=True)
class Acquired:
    """Slots now owned, the store's time when they were loaded, and how the partition's former starts ended.

    `starts` oldest first, at most the last 20.
    """

    slots: tuple[SlotLoaded, ...]
    now: datetime
    starts: tuple[Start, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptNote:
    """One failed or ended attempt of a ledger row, kept as bounded history."""

    row_id: str
    kind: Literal["live", "retry", "drain", "operator"]
    at: datetime
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class IntentDone:
    """How an operator's intent ended; stored with its effect (H5)."""

    intent_id: int
    applied: bool
    code: str
    text: str
    outcome: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice:
    """A fact for the outbox: one per transition that people are told of (P13, D1).

    Nobody is told of it before `after` seconds have passed by the store's clock, and nobody at all when by then the
    row was `reopened`, because an outage had caused the park (H15).
    """

    kind: Literal["parked", "exhausted", "resumed", "skipped", "resolved"]
    row: Row
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class SlotWrite:
    """Everything one slot's owner has to say, as one snapshot of one loop turn; never split within a slot (H9).

    Rows are absolute states by id (the last one wins), so a batch may be sent again unchanged (H26). `folded` are
    settled markers now contained in `marks`; exactly these are deleted (H4). `marks` holds every group the slot
    knows, also those of other programs. `trying` is all that is marked in the slot from now on, `None` = unchanged.
    """

    slot: int
    epoch: int
    marks: dict[int, Mark]
    folded: tuple[tuple[int, int], ...] = ()
    rows: tuple[Row, ...] = ()
    attempts: tuple[AttemptNote, ...] = ()
    intents: tuple[IntentDone, ...] = ()
    notices: tuple[Notice, ...] = ()
    trying: tuple[Trying, ...] | None = None
    reopened: tuple[tuple[str, int], ...] = ()
    """Rows, with their etags, that an outage had parked: what was said of them before and not told yet is withdrawn."""


@dataclass(frozen=True, slots=True)
class GroupReset:
    """Which group begins anew, and behind which position of every slot (0 = at the beginning)."""

    group: str
    number: int
    to: int = 0


class SlotStore(Protocol):
    """Slots, their owners and their progress."""

    async def register(
        self, groups: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None = None
    ) -> dict[str, GroupRegistered]:
        """Make the groups known, once, by one statement over all slots: a consistent cut of the log (L5, H20).

        A new group starts at 0 or at every slot's head as of now. An alias that names a known group or subscription
        renames it in the same transaction, with its ledger rows. A group no longer declared is retired; when it
        returns, `returning` says where it goes on, and without it `ConfigurationError` asks for that.
        """
        ...

    async def admit(self, groups: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None = None) -> None:
        """Raise what `register` would raise of these groups; changes nothing."""

    async def slot_count(self) -> int:
        """Give the number of slots fixed by the first migration.

        Raises `SchemaError` when this program hashes otherwise (H37).
        """
        ...

    async def acquire(self, owner: Owner, slots: Sequence[int]) -> Acquired:
        """Take slots over: raise the epochs, then load.

        Waits until each present owner's lease has ended or its process is known dead.

        All or nothing. Waits for commits of the old owner that are under way; one that hangs for 2 s has its
        connections ended (H8).

        Notes the start of this owner, and how present owners that did not release their slots have ended: `UNCLEAN`
        when it is known that the process died; `EXCUSED` when that is not known (a lost node, one that is cut off),
        when the process goes on as this owner, and after `excuse` (P15).
        """
        ...

    async def acquire_free(self, owner: Owner, slots: Sequence[int]) -> Acquired:
        """Take over, as `acquire` does, those of the slots that nobody defends now; waits for nobody, may be none."""
        ...

    async def commit(self, writes: Sequence[SlotWrite]) -> datetime:
        """Write the slots' progress and ledger changes in one transaction; answers the store's time.

        Raises `FencedError` naming slots with a newer epoch (nothing was written), `StoreDataError` when a value was
        refused (nothing was written), `StoreUnavailableError` with unknown outcome (send the same again).
        """
        ...

    async def reset(
        self, writes: Sequence[SlotWrite], reset: GroupReset, hook: Callable[[Any], Awaitable[None]] | None
    ) -> int:
        """Let a group begin anew, in one transaction; answers how many ledger rows were closed as `reset` (L6, H13).

        `writes` are those of *every* slot of the store, with the group's new mark and generation in each; the group's
        markers are deleted, its open rows stopped above `to` closed, and `hook(connection)` is awaited within the
        transaction. Raises what `commit` and the hook raise; then nothing was changed. `ConflictError` = some slots are
        somebody else's.
        """
        ...

    async def release(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """Commit and give the slots up at once, so that a successor need not wait for the lease.

        The owner's start has ended `CLEAN` then, also where nothing is written or some slots are kept.
        """
        ...

    async def let_go(self, writes: Sequence[SlotWrite], owner: Owner) -> None:
        """Commit and give these slots up, as `release` does; the owner goes on with its others, its start lasts (L7).

        Raises what `commit` raises. After `StoreUnavailableError` they may be somebody else's: send the same again.
        """
        ...

    async def excuse(self, partition: str) -> None:
        """Have the partition's present start end `EXCUSED`, however it ends: somebody is about to kill it (H10).

        Nothing happens when its start has ended, or there was none. Raises `StoreUnavailableError`.
        """


class Lease(Protocol):
    """The owner's right to begin calls (L3)."""

    valid_until: float
    """Monotonic time before which a call may begin; read before each, written by another thread."""

    on_lost: Callable[[], None]
    """Called once, in the loop that started the lease, when it was taken over: this owner is over (L3, H18)."""

    async def start(self, owner: Owner) -> None:
        """Take the lease and keep renewing it each second from a thread and connection of its own."""
        ...

    async def stop(self) -> None:
        """Stop renewing and end the lease at once."""
        ...


@dataclass(frozen=True, slots=True)
class EffectMark:
    """Which call a transaction of effects settles."""

    group: int
    slot: int
    epoch: int
    position: int


class EffectTransaction(Protocol):
    """An open transaction that a handler writes through (`ctx.connection`)."""

    connection: Any

    lost: bool
    """Known after `commit` or `rollback`: the connection was lost, so that our own store is what failed the call."""

    async def commit(self) -> None:
        """Insert the settled marker, check the slot's epoch last, commit (H4).

        Raises `FencedError`, `StoreUnavailableError` with unknown outcome (ask `Effects.settled`), or the driver's
        error when the database refused; then nothing was written.
        """
        ...

    async def rollback(self) -> None:
        """Undo everything and give the connection back; never raises, also after a lost connection."""
        ...


class Effects(Protocol):
    """Transactions for effectively-once projections (L1)."""

    async def begin(self, mark: EffectMark) -> EffectTransaction:
        """Get a connection (not part of the attempt) and begin; raises `StoreUnavailableError`."""
        ...

    async def settled(self, mark: EffectMark) -> bool:
        """Tell for certain whether the call was committed, waiting for a commit still under way.

        Raises `StoreUnavailableError`.
        """
        ...
