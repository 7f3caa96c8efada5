"""What an author might have written, for the tests of the authoring side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from wow_ray import Aggregate, App, ConfigurationError
from wow_ray.handlers.specs import AppSpec
from wow_ray.settings import load

order = Aggregate("order")
parcel = Aggregate("parcel")


@order.event("order_paid")
class OrderPaid(BaseModel):
    """An order was paid."""

    lines: dict[str, int] = {}


@order.event("order_shipped", revision=2)
class OrderShipped(BaseModel):
    """An order was shipped."""

    parcel: str = ""


@parcel.event("parcel_sent")
class ParcelSent(BaseModel):
    """A parcel was sent."""


class Undeclared(BaseModel):
    """A model that is no event."""


@order.state
class OrderState(BaseModel):
    """What an order is."""

    lines: dict[str, int] = {}

    def apply(self, event: OrderPaid | OrderShipped) -> OrderState:
        """Fold one event."""
        return self.model_copy(update={"lines": event.lines}) if isinstance(event, OrderPaid) else self


def resolved(app: App, settings: dict[str, Any] | None = None, environ: dict[str, str] | None = None) -> AppSpec:
    """Resolve an app under settings given as a file would give them."""
    return app.resolved(load(settings, None, environ or {}))


def only(name: str, function: Callable[..., Any]) -> type[Any]:
    """Make a processor class with this one function."""
    return type("Only", (), {name: function})


@contextmanager
def refused(code: str, *texts: str) -> Iterator[None]:
    """Expect one `ConfigurationError` of this code whose text holds all of these."""
    with pytest.raises(ConfigurationError) as caught:
        yield
    assert caught.value.code == code, caught.value
    for text in texts:
        assert text in str(caught.value)
