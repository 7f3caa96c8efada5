"""Testing: one handler alone, or the whole app in virtual time."""

import pytest
from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, ProjectContext, ReactContext, Scope, StateEvent, on_event
from wow_ray.testing import Scenario, projection_spec, reactor_spec

order = Aggregate("order")
app = App("shop")


@order.event("order_paid")
class OrderPaid(BaseModel):
    """The buyer has paid."""

    cents: int


@order.state
class OrderState(BaseModel):
    """What was paid."""

    cents: int = 0

    def apply(self, event: OrderPaid) -> "OrderState":
        """Add it up."""
        return OrderState(cents=self.cents + event.cents)


class Mail:
    """A fake with a memory."""

    def __init__(self) -> None:
        """Begin with nothing said and no errors to raise."""
        self.errors: list[Exception] = []
        self.keys: list[str] = []

    async def tell(self, key: str) -> None:
        """Remember the key, or fail."""
        if self.errors:
            raise self.errors.pop()
        self.keys.append(key)


@app.reactor
class Notifier:
    """Tells buyers that their money has arrived."""

    def __init__(self, mail: Mail) -> None:
        """Take the mail."""
        self.mail = mail

    @on_event
    async def on_paid(self, event: Event[OrderPaid], ctx: ReactContext) -> None:
        """Tell the owner of the order."""
        if event.scope.owner_id is not None:
            await self.mail.tell(ctx.invocation_key)


@app.projection
class Sales:
    """Writes what each order has brought."""

    @on_event
    async def on_paid(self, event: StateEvent[OrderState, OrderPaid], ctx: ProjectContext) -> None:
        """Write the sum so far."""
        await ctx.connection.execute("upsert", event.ref.id, event.state.cents)


async def test_reactor_spec_calls_one_handler_exactly_once() -> None:
    """No retries, no store: what the call does is all there is to see."""
    mail = Mail()

    spec = reactor_spec(Notifier(mail))
    (await spec.when_event(order("o-1"), OrderPaid(cents=500), version=6, owner_id="b-7")).expect_no_error()

    assert mail.keys == ["Notifier.on_paid:o-1@6:0"]


async def test_reactor_spec_shows_whether_a_repeat_is_safe() -> None:
    """L1: the same event again has the same key, also after an error."""
    mail = Mail()
    mail.errors = [ConnectionError("mail is down")]

    spec = reactor_spec(Notifier(mail))
    (await spec.when_event(order("o-1"), OrderPaid(cents=500), owner_id="b-7")).expect_error(ConnectionError)
    (await spec.when_event(order("o-1"), OrderPaid(cents=500), owner_id="b-7")).expect_no_error()

    assert mail.keys == ["Notifier.on_paid:o-1@1:0"]


async def test_an_expectation_that_is_not_met_fails_the_test() -> None:
    """`expect_error` answers the error, so that its text can be looked at."""
    outcome = await reactor_spec(Notifier(Mail())).when_event(order("o-1"), OrderPaid(cents=500))

    with pytest.raises(AssertionError):
        outcome.expect_error(ConnectionError)


async def test_projection_spec_records_what_was_written() -> None:
    """`given` are the aggregate's earlier events, for handlers that want its state."""
    spec = projection_spec(Sales())
    outcome = await spec.when_event(order("o-1"), OrderPaid(cents=500), version=2, given=[OrderPaid(cents=200)])

    outcome.expect_no_error()
    assert [statement.arguments for statement in spec.connection.statements] == [("o-1", 700)]


async def test_a_scenario_runs_the_whole_app_in_virtual_time() -> None:
    """`advance` lets time pass: a day of it takes no time."""
    mail = Mail()
    mail.errors = [ValueError("no template") for _ in range(9)]

    async with Scenario(app, {Mail: mail}) as running:
        await running.store.append(
            order("o-1"), [OrderPaid(cents=500)], expected_version=0, scope=Scope(owner_id="b-7")
        )
        await running.advance("2s")
        (parked,) = await running.parked()
        assert parked.error == "ValueError: no template"
        await running.advance("24h")

        assert mail.keys == ["Notifier.on_paid:o-1@1:0"]
        assert await running.parked() == []
