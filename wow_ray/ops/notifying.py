"""The log of notices: what was sent to whom, what was not and why; sent again, and tried out (P13, P10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.ops.commands import Command, check_command
from wow_ray.ops.finding import is_unstorable
from wow_ray.ops.notice_views import DeliveryDetail, DeliveryPage, DeliveryView, NoticeAnswer
from wow_ray.policy.notices import Writer
from wow_ray.policy.parked import Verb
from wow_ray.ports.ledger import Intent
from wow_ray.ports.notices import DeliveryFilter, DeliveryState, Outbox, Resend

STATES = frozenset(DeliveryState)
MOST_LISTED = 1_000
MOST_NAME = 40
NAME = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{MOST_NAME - 1}}}\Z")


@dataclass(frozen=True, slots=True)
class DeliveryQuery:
    """Which deliveries are wanted; `None` = any, no state = none (P12). `before` is the `next` of the page before."""

    states: frozenset[DeliveryState] = STATES
    webhook: str | None = None
    before: str | None = None
    limit: int = 100


class NoticeOperations:
    """Looks at one context's notices, has them sent again, and has webhooks tried out."""

    def __init__(self, context: str, outbox: Outbox, new_id: Callable[[], str]) -> None:
        """Work on one store; `new_id` gives ids of requests and deliveries."""
        self._outbox = outbox
        self._new_id = new_id
        self._writer = Writer(context, new_id)

    async def listed(self, query: DeliveryQuery) -> DeliveryPage:
        """List deliveries, newest first; raises `OperationError` for a page of no size."""
        if not 1 <= query.limit <= MOST_LISTED:
            raise OperationError(f"limit is {query.limit}; from 1 to {MOST_LISTED:,}")
        counts = await self.counts()
        if is_unstorable(query.webhook or "") or is_unstorable(query.before or ""):
            return DeliveryPage((), counts, None)
        wanted = DeliveryFilter(query.webhook, query.states, query.before, query.limit + 1)
        found = await self._outbox.deliveries(wanted)
        page = tuple(map(DeliveryView.of, found[: query.limit]))
        return DeliveryPage(page, counts, page[-1].id if len(found) > query.limit else None)

    async def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Count the deliveries that are kept, by webhook and state."""
        counts: dict[str, dict[str, int]] = {}
        for (webhook, state), count in sorted((await self._outbox.counts()).items()):
            counts.setdefault(webhook, {})[state.value] = count
        return counts

    async def shown(self, delivery_id: str) -> DeliveryDetail:
        """Show one delivery with what is sent; raises `NotFoundError`."""
        found = None if is_unstorable(delivery_id) else await self._outbox.delivery(delivery_id)
        if found is None:
            raise NotFoundError(f"there is no delivery {delivery_id!r}; see `wow-ray notices list`")
        return DeliveryDetail(DeliveryView.of(found), found.body)

    async def resend(self, delivery_id: str, command: Command) -> NoticeAnswer:
        """Have a delivery that was sent or given up sent again, under its id and with all its attempts.

        Raises `NotFoundError`, `ConflictError` for one that is to be sent anyway.
        """
        check_command(command)
        await self.shown(delivery_id)
        request_id = command.request_id or self._new_id()
        asked = Resend(request_id, delivery_id, command.actor.strip(), command.reason.strip())
        action = await self._outbox.resend(asked)
        return await self._answered(action, Verb.RESEND_NOTICE, delivery_id)

    async def test(self, webhook: str, command: Command) -> NoticeAnswer:
        """Have a notice sent that only shows that notices arrive; whether the webhook exists is known to the sender."""
        check_command(command)
        if NAME.match(webhook) is None:
            raise OperationError(
                f"no webhook is called {webhook!r}: a name has letters in lower case, digits, '-', '_'"
            )
        new = self._writer.test(webhook, await self._outbox.now())
        request_id = command.request_id or self._new_id()
        action = await self._outbox.add(new, request_id, command.actor.strip(), command.reason.strip())
        identity = str(action.outcome.get("delivery", ""))
        if action.request.group != webhook:
            identity = ""
        return await self._answered(action, Verb.TEST_WEBHOOK, identity)

    async def _answered(self, action: Intent, verb: Verb, delivery_id: str) -> NoticeAnswer:
        """Say what became of a request; raises what it was refused with."""
        if (action.request.verb, action.request.aggregate_id) != (verb, delivery_id):
            text = f"request id {action.request.request_id!r} was used for another command; take a new one"
            raise ConflictError(f"request_id: {text}")
        if action.state == "refused":
            error = NotFoundError if action.code == "not_found" else ConflictError
            raise error(f"{action.code}: {action.text}")
        return NoticeAnswer.of(action, await self._outbox.delivery(delivery_id))
