"""Settings: the host may set budgets for all subscriptions or for one, without touching the code."""

import pytest
from pydantic import BaseModel

from wow_ray import Aggregate, App, SettingsError, on_event, retry
from wow_ray.testing import Scenario

order = Aggregate("order")


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """A parcel has left."""


def shop(calls: list[str]) -> App:
    """Make an app whose one handler always fails; its author wants three calls."""
    app = App("shop")

    @app.reactor
    @retry(max_attempts=3)
    class Notifier:
        @on_event
        async def on_shipped(self, event: OrderShipped) -> None:
            del event
            calls.append("called")
            raise TimeoutError

    return app


async def test_the_authors_budget_counts_where_the_host_says_nothing_of_the_subscription() -> None:
    """C1: `@retry` comes before what the host sets for all."""
    calls: list[str] = []

    async with Scenario(shop(calls), settings={"subscription": {"retry": {"max_attempts": 4}}}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1m")

    assert len(calls) == 3


async def test_the_host_has_the_last_word_on_one_subscription() -> None:
    """C1, C4: by its name, as it is shown everywhere."""
    calls: list[str] = []
    own = {"subscriptions": {"Notifier.on_shipped": {"retry": {"max_attempts": 2}}}}

    async with Scenario(shop(calls), settings=own) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1m")

    assert len(calls) == 2


async def test_a_setting_that_does_not_exist_stops_the_start_and_names_the_nearest() -> None:
    """C4: a typo is never ignored."""
    with pytest.raises(SettingsError, match=r"Notifier\.on_shipped"):
        Scenario(shop([]), settings={"subscriptions": {"Notifier.on_shiped": {"retry": {"max_attempts": 2}}}})
