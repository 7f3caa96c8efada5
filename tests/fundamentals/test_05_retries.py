"""Retries: a handler that raises is called again, a few times, further and further apart."""

from collections.abc import Callable

from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, ReactContext, on_event, retry
from wow_ray.testing import Scenario

order = Aggregate("order")


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """A parcel has left."""


class Mail:
    """A fake with a memory: fails as often as it is told, and remembers when and with which key it was called."""

    def __init__(self, *errors: Exception) -> None:
        """Begin with what the first calls raise."""
        self.errors = list(errors)
        self.now: Callable[[], float] = float
        self.calls: list[tuple[float, str]] = []

    async def tell(self, key: str) -> None:
        """Send a mail, or fail."""
        self.calls.append((round(self.now(), 3), key))
        if self.errors:
            raise self.errors.pop(0)


def shop() -> App:
    """Make an app with one reactor under the default budget."""
    app = App("shop")

    @app.reactor
    class ShipmentNotifier:
        def __init__(self, mail: Mail) -> None:
            self.mail = mail

        @on_event
        async def on_shipped(self, event: Event[OrderShipped], ctx: ReactContext) -> None:
            del event
            await self.mail.tell(ctx.invocation_key)

    return app


async def test_a_failed_call_is_repeated_with_the_same_key() -> None:
    """B1, L1: the receiver can tell that it is the same call."""
    mail = Mail(ConnectionAbortedError(), TimeoutError())

    async with Scenario(shop(), {Mail: mail}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1s")

    assert {key for _, key in mail.calls} == {"ShipmentNotifier.on_shipped:o-1@1:0"}
    assert len(mail.calls) == 3


async def test_by_default_there_are_five_calls_within_one_and_a_half_seconds() -> None:
    """B1: waits of 100, 200, 400 and 800 ms."""
    mail = Mail(*[TimeoutError() for _ in range(5)])

    async with Scenario(shop(), {Mail: mail}) as running:
        start = running.clock.monotonic()
        mail.now = lambda: running.clock.monotonic() - start
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1m")

    assert [at for at, _ in mail.calls] == [0.0, 0.1, 0.3, 0.7, 1.5]


async def test_retry_sets_another_budget() -> None:
    """B1, B6: on the class for all its handlers, or on one handler; durations are written as text."""
    app = App("shop")
    calls: list[int] = []

    @app.reactor
    @retry(max_attempts=3, initial_backoff="10s", multiplier=3, max_backoff="1m", timeout="5s")
    class ShipmentNotifier:
        @on_event
        async def on_shipped(self, event: Event[OrderShipped], ctx: ReactContext) -> None:
            del event
            calls.append(ctx.attempt)
            raise TimeoutError

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("9s")
        assert calls == [1]
        await running.advance("2s")
        assert calls == [1, 2]
        await running.advance("1m")

    assert calls == [1, 2, 3]


async def test_a_call_that_takes_too_long_has_failed() -> None:
    """B4: it is cancelled at its timeout and called again."""
    app = App("shop")
    attempts: list[int] = []
    scenario: list[Scenario] = []

    @app.reactor
    @retry(timeout="2s")
    class ShipmentNotifier:
        @on_event
        async def on_shipped(self, event: Event[OrderShipped], ctx: ReactContext) -> None:
            del event
            attempts.append(ctx.attempt)
            if ctx.attempt == 1:
                await scenario[0].clock.sleep(60)

    scenario.append(Scenario(app))
    async with scenario[0] as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1s")
        assert attempts == [1]
        await running.advance("2s")

    assert attempts == [1, 2]


async def test_only_the_failing_aggregate_waits() -> None:
    """B7: o-2 is called while o-1 waits for its next attempt."""
    mail = Mail(TimeoutError())

    async with Scenario(shop(), {Mail: mail}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("0s")
        await running.store.append(order("o-2"), [OrderShipped()], expected_version=0)
        await running.advance("50ms")

        assert [key[-5:] for _, key in mail.calls] == ["1@1:0", "2@1:0"]


async def test_a_success_gives_the_aggregate_a_fresh_budget() -> None:
    """D6: what one event has spent is no debt of the next one."""
    mail = Mail(*[TimeoutError() for _ in range(4)])

    async with Scenario(shop(), {Mail: mail}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1m")
        mail.errors = [TimeoutError() for _ in range(4)]
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=1)
        await running.advance("1m")

        assert await running.parked() == []
