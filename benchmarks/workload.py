"""The event that benchmarks append and handle: about 300 bytes of JSON, as a small order has."""

import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

from pydantic import BaseModel

from benchmarks.report import console
from benchmarks.servers import connected
from wow_ray import Aggregate
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database, open_client_stores
from wow_ray.policy.slots import slot_of

CONTEXT = "bench"
COLUMNS = (
    *("slot", "position", "context", "aggregate", "aggregate_id", "version", "sequence"),
    *("type", "revision", "payload", "size", "occurred_at"),
)
"""The columns of the log that an append fills for events without scope, headers or commit id."""

account = Aggregate("account")


class Customer(BaseModel, frozen=True):
    """Who."""

    given: str
    family: str
    city: str


class Item(BaseModel, frozen=True):
    """What."""

    sku: str
    quantity: int
    cents: int


@account.event("booked")
class Booked(BaseModel, frozen=True):
    """One event: the `number`-th of its account, appended at `sent` (seconds of the machine's monotonic clock).

    Frozen throughout, so that the handlers of one read share one decoded body.
    """

    account: str
    number: int
    sent: float
    customer: Customer
    items: tuple[Item, ...]
    note: str


class Bookings:
    """Makes the events of so many accounts, each counted from 1, by a seed."""

    def __init__(self, seed: int, accounts: int, prefix: str = "a") -> None:
        """Make nothing yet."""
        self.random = Random(seed)
        self.names = [f"{prefix}-{number:06}" for number in range(accounts)]
        self.made: Counter[str] = Counter()

    def next_of(self, name: str) -> Booked:
        """Make the account's next event."""
        self.made[name] += 1
        chance = self.random.random()
        cents = int(chance * 99_999)
        return Booked(
            account=name,
            number=self.made[name],
            sent=time.monotonic(),
            customer=Customer(given="Wilhelmina", family=f"Customer{cents:05}", city="Amsterdam"),
            items=(Item(sku=f"sku-{cents % 997:04}", quantity=1 + cents % 7, cents=cents),) * 2,
            note=f"{cents:016x}" * 3,
        )

    def mixed(self, events: int) -> Iterator[Booked]:
        """Make so many events, each of an account chosen by chance."""
        for _ in range(events):
            yield self.next_of(self.names[int(self.random.random() * len(self.names))])


async def load(database: Database, bookings: Bookings, events: int) -> float:
    """Add so many events of new accounts to the log, each a commit of its own, as if they had been appended one by one.

    They are copied into place, which `append` is not made for; a real append that follows finds heads and versions as
    it left them itself. Answers the seconds it took, making the events included.
    """
    started = time.monotonic()
    heads: Counter[int] = Counter()
    now = datetime.now(UTC)
    async with connected(database) as connection:
        found = await connection.fetch(f"select slot, head from {database.schema}.slot_heads")  # noqa: S608 - our own name
    there = {row["slot"]: row["head"] for row in found}
    records = []
    for event in bookings.mixed(events):
        slot = slot_of(database.context, account.name, event.account, database.slots)
        heads[slot] += 1
        payload = event.model_dump_json()
        place = (slot, there[slot] + heads[slot], database.context, account.name, event.account, event.number, 0)
        records.append((*place, "booked", 1, payload, len(payload), now))
    async with connected(database) as connection:
        async with connection.transaction():
            await connection.copy_records_to_table(
                "events", schema_name=database.schema, columns=COLUMNS, records=records
            )
            await connection.executemany(
                f"update {database.schema}.slot_heads set head = head + $2 where slot = $1",  # noqa: S608 - our own name
                list(heads.items()),
            )
        await connection.execute("vacuum analyze")
    async with open_client_stores(database, SystemClock()) as client:
        last = bookings.names[0]
        following = bookings.next_of(last)
        await client.events.append(account(last), [following], expected_version=following.number - 1)
    seconds = time.monotonic() - started
    console.print(f"{events:,} events loaded in {seconds:.1f} s ({events / seconds:,.0f}/s)")
    return seconds
