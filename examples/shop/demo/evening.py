"""What `--keep` adds: the shop stays open, and some buyers are unknown for a while, for an operator to practise on."""

import asyncio
import sys
from pathlib import Path

from examples.shop.demo.crew import working
from examples.shop.demo.customers import extra_orders
from examples.shop.demo.day import Day
from examples.shop.demo.postgres import Place

A_WHILE = 2.0
"""Seconds between two orders."""
FOUND_AFTER = 20.0
"""Seconds after which the address of a new buyer is found; resuming helps from then on."""


async def stay_open(day: Day) -> None:
    """Take an order every two seconds until the process is told to end; tell what is parked anew."""
    mail, loop = day.world.mail, asyncio.get_running_loop()
    told: set[str] = set()

    def found(buyer: str) -> None:
        mail.unknown -= {buyer}

    async with working(day.place) as crew:
        day.screen.say("The shop stays open; Ctrl-C closes it. Every fifth order is of a new buyer, unknown for 20 s.")
        day.screen.say("In another terminal:")
        for command in commands(day.place):
            day.screen.line(f"  {command}")
        for buyer, commits in extra_orders(day.plan):
            if buyer is not None:
                mail.unknown |= {buyer}
                loop.call_later(FOUND_AFTER, found, buyer)
            await crew.store.append_many(commits)
            await day.clock.sleep(A_WHILE)
            if fresh := [row for row in await crew.desk.look() if row.id not in told]:
                day.screen.parked(fresh)
                told.update(row.id for row in fresh)


def commands(place: Place) -> list[str]:
    """Give what can be tried."""
    program = Path(sys.executable).with_name("wow-ray")
    tries = ("status", "subscriptions list", "parked list", "parked resume ID --reason 'address found'")
    return [*place.preparing, *(f"{program} {what} {place.options}" for what in tries)]
