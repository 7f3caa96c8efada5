"""Projections: read models whose rows and progress are committed together."""

from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, ProjectContext, on_event
from wow_ray.testing import RecordingConnection, Scenario
from wow_ray.testing.connection import RecordingDatabase

order = Aggregate("order")


@order.event("order_paid")
class OrderPaid(BaseModel):
    """The buyer has paid."""

    cents: int


@order.event("order_refunded")
class OrderRefunded(BaseModel):
    """The buyer has the money back."""


async def test_what_is_written_through_ctx_connection_is_written_once() -> None:
    """L1: a call that fails after its statement leaves nothing; the repeat that succeeds leaves one row."""
    app = App("shop")
    database = RecordingDatabase()
    errors = [TimeoutError(), TimeoutError()]

    @app.projection
    class Sales:
        @on_event
        async def on_paid(self, event: Event[OrderPaid], ctx: ProjectContext) -> None:
            await ctx.connection.execute("insert into sales values ($1, $2)", event.ref.id, event.body.cents)
            if errors:
                raise errors.pop()

    async with Scenario(app, connect=database.connect) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=500)], expected_version=0)
        await running.advance("1s")

    assert [statement.arguments for statement in database.committed] == [("o-1", 500)]
    assert len(database.rolled_back) == 2


async def test_the_handlers_of_one_projection_see_an_aggregate_in_the_order_of_its_events() -> None:
    """H3, P1: the refund is written after the payment although another handler takes it."""
    app = App("shop")
    database = RecordingDatabase()

    @app.projection
    class Sales:
        @on_event
        async def on_paid(self, event: Event[OrderPaid], ctx: ProjectContext) -> None:
            await ctx.connection.execute("insert", event.ref.id)

        @on_event
        async def on_refunded(self, event: Event[OrderRefunded], ctx: ProjectContext) -> None:
            await ctx.connection.execute("delete", event.ref.id)

    async with Scenario(app, connect=database.connect) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=500)], expected_version=0)
        await running.store.append(order("o-1"), [OrderRefunded()], expected_version=1)
        await running.advance("1s")

    assert [statement.sql for statement in database.committed] == ["insert", "delete"]


async def test_a_projection_may_read_through_its_connection() -> None:
    """In tests a query finds what was scripted for it; on Postgres it finds what is there."""
    app = App("shop")
    database = RecordingDatabase()
    database.answer("select cents", {"cents": 500})
    seen: list[int] = []

    @app.projection
    class Sales:
        @on_event
        async def on_paid(self, event: Event[OrderPaid], ctx: ProjectContext) -> None:
            before = await ctx.connection.fetchval("select cents from sales where id = $1", event.ref.id)
            seen.append(before + event.body.cents)

    def connect() -> RecordingConnection:
        return database.connect()

    async with Scenario(app, connect=connect) as running:
        await running.store.append(order("o-1"), [OrderPaid(cents=200)], expected_version=0)
        await running.advance("1s")

    assert seen == [700]
