"""The apps of most of these tests: processors whose calls go to the desk, under the default budget."""

from __future__ import annotations

from tests.unit.runtime.desk import BadParcel, CarrierDown, Desk, Paid, Sent, Shipped, UnknownBuyer
from wow_ray import App, Context, Event, ProjectContext, on_event, retry

app = App("shop")
"""One reactor of paid orders."""

books = App("shop")
"""One projection of paid and of shipped orders, two handlers of one group, and a reactor of paid orders beside it."""

sales = App("shop")
"""One projection of paid orders that writes through its connection."""

two = App("shop")
"""Two reactors of paid orders, and one of parcels."""


@app.reactor
@retry(recoverable=[BadParcel], unrecoverable=[UnknownBuyer], systemic=[CarrierDown])
class Notifier:
    """Hands every paid order to the desk."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Handle one."""
        await self.desk.handle(event, ctx)


@books.projection
@retry(recoverable=[BadParcel], unrecoverable=[UnknownBuyer], systemic=[CarrierDown])
class Book:
    """Two handlers that share a checkpoint and a lane for each order."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Handle one."""
        await self.desk.handle(event, ctx)

    @on_event
    async def on_shipped(self, event: Event[Shipped], ctx: Context) -> None:
        """Handle one."""
        await self.desk.handle(event, ctx)


@books.reactor
class Beside:
    """Another group that reads the same events; never fails."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Only remember it."""
        self.desk.note(event, ctx)


@sales.projection
@retry(recoverable=[BadParcel], unrecoverable=[UnknownBuyer], systemic=[CarrierDown])
class Sales:
    """Writes one row for each paid order, then does what the desk says."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: ProjectContext) -> None:
        """Handle one."""
        await ctx.connection.execute("insert into sales", event.ref.id, event.version)
        await self.desk.handle(event, ctx)


@two.reactor
@retry(recoverable=[BadParcel], unrecoverable=[UnknownBuyer], systemic=[CarrierDown])
class First:
    """Does what the desk says."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Handle one."""
        await self.desk.handle(event, ctx)


@two.reactor
class Second:
    """Another group of the same events, which only remembers them."""

    def __init__(self, desk: Desk) -> None:
        """Take the desk."""
        self.desk = desk

    @on_event
    async def on_paid(self, event: Event[Paid], ctx: Context) -> None:
        """Remember one."""
        self.desk.note(event, ctx)

    @on_event
    async def on_sent(self, event: Event[Sent], ctx: Context) -> None:
        """Remember one."""
        self.desk.note(event, ctx)
