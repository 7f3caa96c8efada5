"""Resources: what processors are made with, provided by type and replaced in tests."""

from collections.abc import AsyncIterator

import pytest
from pydantic import BaseModel

from wow_ray import Aggregate, App, ConfigurationError, on_event
from wow_ray.testing import Scenario

order = Aggregate("order")


@order.event("order_shipped")
class OrderShipped(BaseModel):
    """A parcel has left."""


class Mail:
    """What a notifier needs."""

    def __init__(self, said: list[str]) -> None:
        """Say everything there."""
        self.said = said


def shop(said: list[str]) -> App:
    """Make an app whose mail is opened and closed by a provider."""
    app = App("shop")

    @app.provide
    async def mail() -> AsyncIterator[Mail]:
        said.append("opened")
        yield Mail(said)
        said.append("closed")

    @app.reactor
    class ShipmentNotifier:
        def __init__(self, mail: Mail) -> None:
            self.mail = mail

        @on_event
        async def on_shipped(self, event: OrderShipped) -> None:
            del event
            self.mail.said.append("told")

    return app


async def test_a_provider_opens_a_resource_once_and_closes_it_at_the_end() -> None:
    """Found by the type that the processor's constructor asks for."""
    said: list[str] = []

    async with Scenario(shop(said)) as running:
        for each in ("o-1", "o-2"):
            await running.store.append(order(each), [OrderShipped()], expected_version=0)
        await running.advance("1s")

    assert said == ["opened", "told", "told", "closed"]


async def test_a_scenario_may_give_a_resource_in_place_of_its_provider() -> None:
    """A test hands in a fake by the type it stands for; the provider is not opened."""
    opened: list[str] = []
    fake = Mail([])

    async with Scenario(shop(opened), {Mail: fake}) as running:
        await running.store.append(order("o-1"), [OrderShipped()], expected_version=0)
        await running.advance("1s")

    assert opened == []
    assert fake.said == ["told"]


async def test_a_resource_that_nobody_provides_stops_the_start() -> None:
    """Mistakes in what was declared are found before anything is handled."""
    app = App("shop")

    @app.reactor
    class ShipmentNotifier:
        def __init__(self, mail: Mail) -> None:
            self.mail = mail

        @on_event
        async def on_shipped(self, event: OrderShipped) -> None:
            del event

    with pytest.raises(ConfigurationError):
        Scenario(app)
