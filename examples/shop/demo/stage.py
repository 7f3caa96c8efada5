"""The shop as its processes load it: its own app, and in front of every handler a pen that notes each call.

Importing this puts the pens there, in processes that have a journal; `app` is the shop's.
"""

import os
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from examples.shop.demo.journal import Pen
from examples.shop.shop import ParcelDesk, Sales, ShipmentNotifier, Stock, app
from wow_ray import Event
from wow_ray.cluster import SystemClock
from wow_ray.handlers.contexts import Context

__all__ = ["JOURNAL", "TARGET", "app"]

JOURNAL = "SHOP_JOURNAL"
"""The variable that says where the journal is."""
TARGET = f"{__name__}:app"

Handler = Callable[[Any, Event[Any], Context], Awaitable[None]]


def _noted(method: Handler, pen: Pen, clock: SystemClock) -> Handler:
    """Note a handler's calls."""

    @wraps(method)
    async def noted(processor: object, event: Event[Any], ctx: Context) -> None:
        pen.write("begun", ctx.subscription, event, clock.monotonic())
        returned = False
        try:
            await method(processor, event, ctx)
            returned = True
        finally:
            pen.write("done" if returned else "failed", ctx.subscription, event, clock.monotonic())

    return noted


def _note_all(journal: str, *processors: type[Any]) -> None:
    """Stand in front of the handlers (`on_...`) of these classes."""
    pen, clock = Pen(journal), SystemClock()
    for cls in processors:
        for name, method in list(vars(cls).items()):
            if name.startswith("on_"):
                setattr(cls, name, _noted(method, pen, clock))


if path := os.environ.get(JOURNAL):
    _note_all(path, Sales, Stock, ParcelDesk, ShipmentNotifier)
