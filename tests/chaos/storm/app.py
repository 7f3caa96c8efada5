"""The app of the storm: it writes down each call in a file that every process appends to, where no kill can reach it.

A line is `WHAT PID SUBSCRIPTION ID VERSION TIME`, written at once: `B` a call begins, `E` it ends well, `F` it fails.
Orders named `bad-…` fail from their third version on until there is a file `healed-ID`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from wow_ray import Aggregate, App, Event, ProjectContext, ReactContext, on_event, retry
from wow_ray.adapters.clock import SystemClock, monotonic

FOLDER = "STORM_FOLDER"
CONTEXT = "storm"
COURIER, SUMS = "Courier.on_paid", "Sums.on_paid"

order = Aggregate("order")
clock = SystemClock()


@order.event("order_paid")
class Paid(BaseModel):
    """An order was paid."""

    model_config = ConfigDict(frozen=True)

    cents: int


class CarrierRefusesError(Exception):
    """What is the order's own trouble."""


class Journal:
    """Everything that was called."""

    def __init__(self) -> None:
        """Append to the folder that the environment names."""
        self.folder = Path(os.environ[FOLDER])
        self._file = os.open(self.folder / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, what: str, subscription: str, event: Event[Paid]) -> None:
        """Write one line."""
        line = f"{what} {os.getpid()} {subscription} {event.ref.id} {event.version} {monotonic():.3f}\n"
        os.write(self._file, line.encode())

    def healed(self, name: str) -> bool:
        """Tell whether an order's trouble is over."""
        return (self.folder / f"healed-{name}").exists()


app = App(
    CONTEXT,
    settings={
        "slots": 24,
        "subscription": {
            "retry": {"max_attempts": 3, "initial_backoff": "20ms", "timeout": "20s"},
            "parked": {"initial_delay": "2s", "multiplier": 1.0},
        },
    },
)


@app.provide
async def journal() -> AsyncIterator[Journal]:
    """Give each process its own."""
    yield Journal()


@app.reactor(start="beginning")
@retry(recoverable=[CarrierRefusesError])
class Courier:
    """Acts on the outside."""

    def __init__(self, journal: Journal) -> None:
        """Take the journal."""
        self.journal = journal

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: ReactContext) -> None:
        """Send a parcel."""
        del ctx
        self.journal.note("B", COURIER, event)
        if event.body.cents % 5 == 0:
            await clock.sleep(0.002)
        if event.ref.id.startswith("bad-") and event.version > 2 and not self.journal.healed(event.ref.id):
            self.journal.note("F", COURIER, event)
            raise CarrierRefusesError(f"{event.ref} has no address")
        self.journal.note("E", COURIER, event)


@app.projection
class Sums:
    """Adds up, effectively once."""

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: ProjectContext) -> None:
        """Add."""
        await ctx.connection.execute(
            "INSERT INTO public.sums AS s VALUES ($1, $2, 1) "
            "ON CONFLICT (id) DO UPDATE SET cents = s.cents + excluded.cents, events = s.events + 1",
            event.ref.id,
            event.body.cents,
        )
