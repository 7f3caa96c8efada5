"""A program that handles events until it is killed, and tells the outside of every call.

    python -m tests.chaos.victim DSN SCHEMA FOLDER NUMBER PARTITIONS

`FOLDER/journal` gets one line for the start of each call (`B`), one for its good end (`E`) and one for its failure
(`F`), each with one write: `B NUMBER subscription id version`. `FOLDER/started-NUMBER` appears once it runs. What
becomes of an event is written in its body; who is to be healed of a failure has a file `FOLDER/healed-ID`. Calls of
kind `exit`, `fault` and `leave` end the process, those of the reactor only.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import sys
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from wow_ray import Aggregate, App, Event, ProjectContext, ReactContext, UnrecoverableHandlingError, on_event, retry
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database
from wow_ray.cluster import open_service
from wow_ray.errors import FencedError, StoreUnavailableError
from wow_ray.settings import load

CONTEXT = "load"
CALLS = "Outside.on_stepped"
SUMS = "Sums"
FENCED = 3
"""Exit code of a program whose slots have a newer owner."""

thing = Aggregate("thing")
app = App(
    CONTEXT,
    settings={
        "subscription": {"parked": {"initial_delay": "1s", "max_delay": "5s"}, "systemic": {"mass_parks": 0}},
    },
)


class SickError(Exception):
    """A failure that lasts until somebody heals it."""


@thing.event("stepped")
class Stepped(BaseModel):
    """One step; `kind` says what its calls do, `seconds` how long they take."""

    model_config = ConfigDict(frozen=True)

    kind: str = "plain"
    seconds: float = 0.0


class Outside:
    """The journal, and who is healed."""

    def __init__(self, folder: Path, number: int, schema: str) -> None:
        self.folder = folder
        self.number = number
        self.count = (
            f"insert into {schema}.sums (id, steps, last) values ($1, 1, $2) "  # noqa: S608 - the test's own name
            f"on conflict (id) do update set steps = sums.steps + 1, last = excluded.last"
        )
        self._journal = os.open(folder / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._clock = SystemClock()
        self._failed: set[tuple[str, int]] = set()

    def note(self, what: str, subscription: str, event: Event[Stepped]) -> None:
        """Write one line."""
        line = f"{what} {self.number} {subscription} {event.ref.id} {event.version}\n"
        os.write(self._journal, line.encode())

    async def call(self, subscription: str, event: Event[Stepped]) -> None:
        """Do what the event says; ends with the line `E`, or raises after the line `F`."""
        self.note("B", subscription, event)
        try:
            if subscription == CALLS and not self._healed(event):
                deadly(event.body.kind)
            await self._work(event)
        except Exception:
            self.note("F", subscription, event)
            raise

    async def _work(self, event: Event[Stepped]) -> None:
        body, place = event.body, (event.ref.id, event.version)
        if body.seconds:
            await self._clock.sleep(body.seconds)
        if body.kind == "flaky" and place not in self._failed:
            self._failed.add(place)
            raise SickError("once")
        if body.kind in {"sick", "doomed"} and not self._healed(event):
            raise SickError("sick") if body.kind == "sick" else UnrecoverableHandlingError("doomed")

    def _healed(self, event: Event[Stepped]) -> bool:
        return (self.folder / f"healed-{event.ref.id}").exists()


def deadly(kind: str) -> None:
    """End the process, if that is the kind: at once, by a fault of native code, or as Python programs end."""
    match kind:
        case "exit":
            os._exit(137)
        case "fault":
            faulthandler._sigsegv()  # type: ignore[attr-defined]  # noqa: SLF001 - made for tests of crashes
        case "leave":
            raise SystemExit(9)


@app.reactor(start="beginning", name="Outside")
@retry(max_attempts=3, initial_backoff="10ms", recoverable=[SickError])
class Reacting:
    """Acts on the outside."""

    def __init__(self, outside: Outside) -> None:
        self.outside = outside

    @on_event
    async def on_stepped(self, event: Event[Stepped], ctx: ReactContext) -> None:
        """Step."""
        del ctx
        await self.outside.call(CALLS, event)
        self.outside.note("E", CALLS, event)


@app.projection
@retry(max_attempts=3, initial_backoff="10ms", recoverable=[SickError])
class Sums:
    """Counts, effectively once."""

    def __init__(self, outside: Outside) -> None:
        self.outside = outside

    @on_event
    async def on_stepped(self, event: Event[Stepped], ctx: ProjectContext) -> None:
        """Count the step."""
        await self.outside.call(SUMS, event)
        await ctx.connection.execute(self.outside.count, event.ref.id, event.version)


async def run(dsn: str, schema: str, folder: Path, number: int, partitions: int) -> int:
    """Handle events until the end; answers the exit code."""
    settings = load(app.settings, None, {})
    outside = Outside(folder, number, schema)
    spec = app.resolved(settings, overridden=(Outside,))
    database = Database(dsn, CONTEXT, schema)
    try:
        async with open_service(
            spec, settings, database, partitions=partitions, overrides={Outside: outside}
        ) as service:
            (folder / f"started-{number}").touch()
            await service.wait()
    except (FencedError, StoreUnavailableError):
        return FENCED
    return 0


if __name__ == "__main__":
    address, name, place, count, parts = sys.argv[1:]
    sys.exit(asyncio.run(run(address, name, Path(place), int(count), int(parts))))
