"""Ledger rows, failures and writes as the suites use them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from wow_ray.errors import FencedError
from wow_ray.failure import Category, Failure
from wow_ray.policy.parked import Reason, Row, State, Verb
from wow_ray.ports.ledger import NewIntent
from wow_ray.ports.slots import Acquired, GroupDeclared, GroupRegistered, Owner, SlotLoaded, SlotWrite
from wow_ray.testing.contract.harness import Harness

SALES = GroupDeclared("Sales", "projection", "beginning", (), (("Sales.on_placed", ()), ("Sales.on_paid", ())))
MAILS = GroupDeclared("Mails.on_paid", "reactor", "end", (), (("Mails.on_paid", ()),))


def a_failure(message: str = "no such buyer", *, type_: str = "shop.UnknownBuyer", fingerprint: str = "f-1") -> Failure:
    """Make a failure by hand, so that every text of it is the test's."""
    return Failure(Category.RECOVERABLE, "default", type_, message, "Traceback: …", fingerprint)


SUBSCRIPTIONS = ("Sales.on_paid",)
"""What a program asks due rows for: the subscriptions it has."""


class Owning:
    """One owner with its slots, as a partition would hold them: registered groups, epochs, the store's time."""

    def __init__(self, harness: Harness, owner: Owner, groups: dict[str, GroupRegistered], acquired: Acquired) -> None:
        self.harness = harness
        self.owner = owner
        self.groups = groups
        self.now: datetime = acquired.now
        self.loaded: dict[int, SlotLoaded] = {loaded.slot: loaded for loaded in acquired.slots}

    def group(self, name: str = "Sales") -> int:
        """Give a group's number."""
        return self.groups[name].number

    def write(self, slot: int = 3, **parts: Any) -> SlotWrite:  # noqa: ANN401 - the fields of a write
        """Make a write of one slot at this owner's epoch, with the marks as loaded unless told otherwise."""
        loaded = self.loaded[slot]
        parts.setdefault("marks", loaded.marks)
        return SlotWrite(slot=slot, epoch=loaded.epoch, **parts)

    async def commit(self, *writes: SlotWrite) -> datetime:
        """Commit through the partition's own store."""
        return await self.harness.partition.slots.commit(writes)

    async def put(self, *rows: Row) -> None:
        """Commit rows, each into its slot."""
        await self.commit(
            *(self.write(slot, rows=tuple(r for r in rows if r.slot == slot)) for slot in {r.slot for r in rows})
        )

    def row(self, id_: str = "r-1", state: State = State.PARKED, **changes: Any) -> Row:  # noqa: ANN401 - the fields of a row
        """Make a row of aggregate order/o-1 of group Sales in slot 3, due in three minutes, unless told otherwise."""
        row = Row(
            id=id_,
            group="Sales",
            subscription="Sales.on_paid",
            slot=3,
            aggregate="order",
            aggregate_id="o-1",
            state=state,
            reason=Reason.BUDGET_SPENT,
            stopped_version=7,
            stopped_sequence=1,
            stopped_position=40,
            failure=a_failure(),
            first_cause=None,
            attempts=5,
            backpressure=0,
            retries=0,
            next_due=self.now + timedelta(minutes=3) if state in {State.PARKED, State.WAITING} else None,
            begun=False,
            skip_through=None,
            etag=1,
            parked_at=self.now,
            updated_at=self.now,
        )
        return replace(row, **changes)

    def intent(self, request_id: str = "q-1", **changes: Any) -> NewIntent:  # noqa: ANN401 - the fields of an intent
        """Make a request to resume the row `r-1`, unless told otherwise."""
        intent = NewIntent(
            request_id, Verb.RESUME, "Sales", 3, "order", "o-1", "r-1", 1, None, "ann", "carrier is back"
        )
        return replace(intent, **changes)


async def owning(harness: Harness, *slots: int, owner: Owner | None = None) -> Owning:
    """Register both groups and take the slots over (slot 3 if none is named)."""
    owner = owner or harness.another_owner()
    groups = await harness.partition.slots.register([SALES, MAILS])
    return Owning(harness, owner, groups, await harness.partition.slots.acquire(owner, slots or (3,)))


async def reloaded(harness: Harness, slot: int = 3) -> SlotLoaded:
    """Take the slot over by yet another owner, and give what it finds."""
    acquired = await harness.partition.slots.acquire(harness.another_owner(), [slot])
    return acquired.slots[0]


async def is_fenced(owning_: Owning, slot: int = 3) -> bool:
    """Tell whether the owner has lost the slot."""
    try:
        await owning_.commit(owning_.write(slot))
    except FencedError:
        return True
    return False
