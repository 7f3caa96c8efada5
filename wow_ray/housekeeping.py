"""What one process does for a whole store beside handling.

It tells webhooks what happened, deletes what is old, and keeps how all stood, for charts.

On Ray that is the ledger's process, else the one the app runs in. A fault in it is told and stops nothing else. Two at
once are one too many and do no harm.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from wow_ray.adapters.ids import time_ordered_ids
from wow_ray.policy.notices import EVENTS, Kind, Route, Writer
from wow_ray.policy.redelivery import Redelivery
from wow_ray.ports.clock import Clock
from wow_ray.ports.notices import Answer, Delivery, Sender
from wow_ray.ports.overview import Overview
from wow_ray.ports.retention import Old
from wow_ray.ports.stores import ClientStores
from wow_ray.runtime.herald import Herald, HeraldPace
from wow_ray.runtime.sampling import Sampler
from wow_ray.runtime.sweeper import Sweeper
from wow_ray.settings import Settings
from wow_ray.settings.notices import NoticesSettings, WebhookSettings

if TYPE_CHECKING:
    from wow_ray.runtime.tracing import Tracing


class Housekeeping:
    """Keeps the house of one store, by `run`, or while inside `async with`."""

    def __init__(self, herald: Herald, sweeper: Sweeper, sampler: Sampler) -> None:
        """Do nothing yet."""
        self._herald = herald
        self._sweeper = sweeper
        self._sampler = sampler
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Do it for ever; ends by cancellation."""
        await asyncio.gather(self._herald.run(), self._sweeper.run(), self._sampler.run())

    async def __aenter__(self) -> Self:
        """Begin."""
        self._task = asyncio.get_running_loop().create_task(self.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


def housekeeping(
    context: str, settings: Settings, client: ClientStores, overview: Overview, clock: Clock
) -> Housekeeping:
    """Put it together as the settings say; connects to nothing yet."""
    notices, kept, luck = settings.notices, settings.retention, random.Random().random  # noqa: S311 - jitter is no secret
    herald = Herald(
        client.outbox,
        _sender(notices),
        routes_of(notices),
        Writer(context, time_ordered_ids(clock), notices.console_url or ""),
        clock=clock,
        dice=luck,
        pace=HeraldPace(notices.pause_after, notices.gather, notices.timeout, Redelivery(notices.attempts)),
    )
    kinds = {old: getattr(kept, old.value) for old in Old}
    sampler = Sampler(client.samples, overview, client.ledger, client.reports, clock)
    sweeper = Sweeper(client.remains, client.calls, kinds, kept.calls, clock=clock, dice=luck)
    return Housekeeping(herald, sweeper, sampler)


def traced(settings: Settings) -> Tracing | None:
    """Give what makes spans, `None` = nobody asks for them, and nothing of it is imported."""
    if not settings.tracing:
        return None
    from wow_ray.runtime.tracing import Tracing  # noqa: PLC0415 - only who traces pays for it

    return Tracing()


def routes_of(notices: NoticesSettings) -> tuple[Route, ...]:
    """Give what each webhook is told."""
    return tuple(_route(name, webhook) for name, webhook in notices.all())


def _route(name: str, webhook: WebhookSettings) -> Route:
    kinds = frozenset(EVENTS) if webhook.events is None else frozenset(map(Kind, webhook.events))
    return Route(name, kinds, webhook.subscriptions, webhook.format)


def _sender(notices: NoticesSettings) -> Sender:
    """Give the way to the webhooks; its client is imported only where there are any."""
    webhooks = dict(notices.all())
    if not webhooks:
        return _Nowhere()
    from wow_ray.adapters.webhook import Target, WebhookSender  # noqa: PLC0415 - only who has webhooks pays for it

    targets = {
        name: Target(each.address, each.secrets, each.allow_private, each.ca_file, each.through())
        for name, each in webhooks.items()
    }
    return WebhookSender(targets, notices.timeout)


class _Nowhere:
    """The way to no webhook at all."""

    async def send(self, webhook: str, delivery: Delivery, now: object) -> Answer:
        """See the port; nobody asks."""
        raise AssertionError((webhook, delivery.id, now))
