"""Tells webhooks what happened: routes facts of the outbox, and sends each webhook its deliveries (P13).

Nothing waits for it: facts are written by commits, and whether anybody is told of them changes no handling. Each
webhook has a task of its own and one attempt at a time, so one that is dead or slow keeps nobody else from theirs. A
fact goes out at once; after that facts are gathered for `gather` seconds, so that many go out together.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from wow_ray.policy.notices import Fact, Kind, Route, Writer
from wow_ray.policy.redelivery import Redelivery
from wow_ray.ports.notices import Answer, Attempted, Claimed, Delivery
from wow_ray.runtime.trouble import Trouble

if TYPE_CHECKING:
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.ports.notices import Outbox, Sender

log = logging.getLogger("wow_ray.notices")

ROUND = 1.0
"""Seconds between two looks at facts, and of a webhook at what is due."""
MOST = 5_000
"""Facts of one round."""
LEEWAY = 20.0
"""Seconds beyond a webhook's timeout until an attempt whose end nobody tells counts as lost."""
GONE = "no webhook of this name is configured where notices are sent from"
CLEANING = 30
"""Rounds between two looks whether something waits for a webhook that is gone."""


@dataclass(frozen=True, slots=True)
class HeraldPace:
    """How notices are sent.

    `lasting` = seconds after which a pause is told of, `gather` = for which facts are gathered after some were sent;
    `timeout` = of one attempt, in seconds.
    """

    lasting: float = 30.0
    gather: float = 10.0
    timeout: float = 10.0
    redelivery: Redelivery = field(default_factory=Redelivery)


class Herald:
    """Notices of one store."""

    def __init__(
        self,
        outbox: Outbox,
        sender: Sender,
        routes: Sequence[Route],
        writer: Writer,
        *,
        clock: Clock,
        dice: Dice,
        pace: HeraldPace | None = None,
    ) -> None:
        """Send nothing before `run`; without routes facts are marked and nobody is told of them, also not later."""
        self._outbox = outbox
        self._sender = sender
        self._routes = routes
        self._writer = writer
        self._clock = clock
        self._dice = dice
        self._pace = pace or HeraldPace()
        self._sent_at = float("-inf")
        self._rounds = 0
        self._due = {route.webhook: asyncio.Event() for route in routes}

    async def run(self) -> None:
        """Route and send for ever; ends by cancellation."""
        tasks = [self._kept(self._routed(), "facts")]
        tasks += [self._kept(self._sending(route.webhook), route.webhook) for route in self._routes]
        await asyncio.gather(*tasks)

    async def _kept(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run a loop; a fault of ours in it is told and ends none of the others."""
        try:
            await work
        except Exception:
            log.exception("%s: notices are not sent any more by this process", name)

    # --- routing

    async def _routed(self) -> None:
        """Route for ever."""
        trouble = Trouble(log, self._clock, "notices cannot be read (%s); trying on", "notices are read after %.1f s")
        while True:
            try:
                await self.round()
            except Exception as error:  # noqa: BLE001 - facts wait; the next round may do better
                trouble.failed(error)
            else:
                trouble.worked()
            await self._clock.sleep(ROUND)

    async def round(self) -> int:
        """Turn the facts there are into deliveries; answers how many were made."""
        if self._rounds % CLEANING == 0 and (lost := await self._outbox.abandon(list(self._due), GONE)):
            log.warning("%d notices waited for webhooks that are not configured any more; given up", lost)
        self._rounds += 1
        await self._outbox.note_pauses(self._pace.lasting)
        now = self._clock.monotonic()
        if now - self._sent_at < self._pace.gather:
            return 0
        facts = await self._outbox.facts(MOST)
        if not facts:
            return 0
        deliveries = self._writer.deliveries(facts, self._routes)
        if not await self._outbox.route([fact.number for fact in facts], deliveries):
            return 0  # another process was quicker, or some were taken back; the next round looks again
        if deliveries:
            self._sent_at = now
        for delivery in deliveries:
            self._due[delivery.webhook].set()
        return len(deliveries)

    # --- sending

    async def _sending(self, webhook: str) -> None:
        """Send a webhook its deliveries, for ever."""
        trouble = Trouble(log, self._clock, f"{webhook}: %s; trying on", f"{webhook}: takes notices after %.1f s")
        due = self._due[webhook]
        while True:
            try:
                due.clear()
                while (answer := await self.send_one(webhook)) is not None:
                    if answer.error:
                        trouble.failed(answer.error)
                    else:
                        trouble.worked()
            except Exception as error:  # noqa: BLE001 - what was claimed is due again when its lease is over
                trouble.failed(error)
            timer = self._clock.call_at(self._clock.monotonic() + ROUND, due.set)
            try:
                await due.wait()
            finally:
                timer.cancel()

    async def send_one(self, webhook: str) -> Answer | None:
        """Make one attempt of what is due the longest; `None` = nothing is due."""
        claimed = await self._outbox.claim(webhook, self._pace.timeout + LEEWAY)
        if claimed is None:
            return None
        answer = await self._sender.send(webhook, self._written(claimed.delivery), claimed.now)
        await self._outbox.attempted(self._judged(claimed, answer))
        return answer

    def _written(self, delivery: Delivery) -> Delivery:
        """Write the body of a test, which is the same at each attempt; any other has one."""
        if delivery.body:
            return delivery
        formats = {route.webhook: route.format for route in self._routes}
        facts = [Fact(0, Kind.TEST, delivery.created_at, "")]
        return replace(delivery, body=self._writer.body(delivery.id, facts, formats[delivery.webhook]))

    def _judged(self, claimed: Claimed, answer: Answer) -> Attempted:
        """Say how an attempt ended."""
        delivery = claimed.delivery
        if not answer.error:
            return Attempted(delivery.id, delivery.attempts, taken=True, status=answer.status, error="")
        again = self._pace.redelivery.again(delivery.attempts, self._dice(), answer.retry_after)
        if again is None:
            text = "%s: a notice is given up after %d attempts (%s): %s"
            log.error(text, delivery.webhook, delivery.attempts, answer.error, delivery.summary)
        return Attempted(
            delivery.id, delivery.attempts, taken=False, status=answer.status, error=answer.error, again=again
        )
