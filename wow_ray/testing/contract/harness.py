"""What a contract suite needs of an adapter besides the ports, and the events it appends."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from itertools import count
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from wow_ray.events import Aggregate, AggregateRef
from wow_ray.policy.slots import slot_of
from wow_ray.ports.slots import Owner
from wow_ray.ports.stores import ClientStores, PartitionStores

order = Aggregate("order")
parcel = Aggregate("parcel")


@order.event("order_placed")
class Placed(BaseModel):
    """An event with a text of any length."""

    text: str = ""


@order.event("order_paid", revision=2)
class Paid(BaseModel):
    """A second type of the same aggregate, with a number and a revision of its own."""

    amount: float = 1.0


@order.event("order_weighed")
class Weighed(BaseModel):
    """An event whose model writes what JSON does not know."""

    model_config = ConfigDict(ser_json_inf_nan="constants")

    grams: float = 1.0


@parcel.event("parcel_sent")
class Sent(BaseModel):
    """An event of another aggregate."""

    number: int = 1


class Undeclared(BaseModel):
    """A model that no aggregate declared."""


class Harness(Protocol):
    """One empty store and what is plugged into it. Every test gets a new one; nothing of an earlier test is in it.

    `context` is the app's, `slots` the number of slots (8 or more).
    """

    context: str
    slots: int
    partition: PartitionStores
    client: ClientStores

    def another_partition(self) -> PartitionStores:
        """Make the stores of one more partition process on the same log; ended with the harness."""
        ...

    def another_owner(self) -> Owner:
        """Make a new incarnation of a partition whose process is alive; its lease is not started."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Open a producer's own transaction and give its connection, as `append(connection=)` takes it.

        It commits at the end of the block, and rolls back when the block raises.
        """
        ...


def ref_in_slot(harness: Harness, slot: int, aggregate: Aggregate = order, skip: int = 0) -> AggregateRef:
    """Find an aggregate of this slot; `skip` finds another one."""
    for number in count():
        ref = aggregate(f"a-{number}")
        if slot_of(harness.context, ref.aggregate, ref.id, harness.slots) == slot:
            if skip == 0:
                return ref
            skip -= 1
    raise AssertionError("unreachable")
