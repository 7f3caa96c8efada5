"""`python -m examples.shop.demo`: a day of the shop in some seconds, and the proof that nothing of it was lost.

A private Postgres starts, orders come in while handlers run, some of what they call fails; what no retry can help is
parked, then repaired and resumed as an operator would. The checker compares everything with the log; exit 0 means
that every claim holds. `KEEP=1` goes on with more orders until Ctrl-C.
"""

import asyncio
import logging
import os
import signal
import sys

from rich.console import Console

from examples.shop.demo import summary
from examples.shop.demo.customers import plan
from examples.shop.demo.day import Day
from examples.shop.demo.evening import stay_open
from examples.shop.demo.postgres import opened
from examples.shop.demo.proof import prove
from examples.shop.demo.screen import Screen
from examples.shop.demo.witness import Witness
from examples.shop.shop import ParcelDesk, Sales, ShipmentNotifier, Stock
from examples.shop.world import World
from wow_ray import WowError

SEED = 7
ORDERS = 900


class _Told(logging.Handler):
    """Shows what the library reports, parked aggregates above all, above the live picture."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        self._console.print(f"  {record.getMessage()}", style="yellow", highlight=False, soft_wrap=True, markup=False)


async def demonstrate(console: Console, *, keep: bool) -> bool:
    """Run it all; answers whether every claim holds."""
    _end_in_order()
    screen = Screen(console)
    asked = plan(SEED, ORDERS)
    world = World(SEED, unknown_buyers=asked.unknown, damaged_parcels=asked.damaged)
    async with opened() as place:
        screen.say(f"The shop opens on {place.described}.")
        day = Day(asked, place, world, Witness(), screen)
        with day.witness.watching(Sales, Stock, ParcelDesk, ShipmentNotifier):
            evidence = await day.live()
        findings = prove(evidence)
        screen.summary(summary.title(day, len(evidence.log)), summary.COLUMNS, summary.rows(day))
        screen.findings(findings)
        holds = all(finding.holds for finding in findings)
        screen.say("Every claim holds." if holds else "Not every claim holds: see what is marked above.")
        if keep and holds:
            await stay_open(day)
    return holds


def _end_in_order() -> None:
    """Have signals end the demo as Ctrl-C does, so that nothing of it stays behind."""
    here, loop = asyncio.current_task(), asyncio.get_running_loop()
    if here is not None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, here.cancel)


def main() -> int:
    """Run the demo; 0 = the proof holds, 1 = it does not or something is missing, and the last line says what to do."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    library = logging.getLogger("wow_ray")
    library.addHandler(_Told(console))
    library.propagate = False
    keep = os.environ.get("KEEP", "0") not in {"", "0"}
    try:
        return 0 if asyncio.run(demonstrate(console, keep=keep)) else 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("Closed.")
        return 0 if keep else 130
    except (WowError, OSError) as error:
        console.print(f"The demo cannot go on: {error}", style="red", soft_wrap=True, markup=False)
        return 1


if __name__ == "__main__":
    sys.exit(main())
