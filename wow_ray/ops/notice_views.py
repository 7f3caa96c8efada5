"""Deliveries of notices, as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from wow_ray.ops.plain import View
from wow_ray.ports.ledger import Intent
from wow_ray.ports.notices import Delivery


@dataclass(frozen=True, slots=True)
class DeliveryView(View):
    """One delivery; `state` is waiting, sent or failed, `status` and `error` are of the last attempt that ended."""

    id: str
    webhook: str
    kinds: tuple[str, ...]
    facts: int
    summary: str
    state: str
    attempts: int
    next_at: datetime | None
    created_at: datetime
    updated_at: datetime
    status: int | None
    error: str

    @classmethod
    def of(cls, delivery: Delivery) -> DeliveryView:
        """View a delivery."""
        return cls(
            id=delivery.id,
            webhook=delivery.webhook,
            kinds=delivery.kinds,
            facts=delivery.facts,
            summary=delivery.summary,
            state=delivery.state.value,
            attempts=delivery.attempts,
            next_at=delivery.next_at,
            created_at=delivery.created_at,
            updated_at=delivery.updated_at,
            status=delivery.status,
            error=delivery.error,
        )


@dataclass(frozen=True, slots=True)
class DeliveryDetail(View):
    """One delivery with what is sent, byte for byte; a test's body is written when it is sent."""

    delivery: DeliveryView
    body: str


@dataclass(frozen=True, slots=True)
class DeliveryPage(View):
    """A page of deliveries, newest first; `counts` are of all that are kept, by webhook and state."""

    deliveries: tuple[DeliveryView, ...]
    counts: Mapping[str, Mapping[str, int]]
    next: str | None


@dataclass(frozen=True, slots=True)
class NoticeAnswer(View):
    """What became of a request."""

    request_id: str
    verb: str
    delivery: DeliveryView | None
    asked_at: datetime

    @classmethod
    def of(cls, action: Intent, delivery: Delivery | None) -> NoticeAnswer:
        """View an action with the delivery it is about."""
        view = None if delivery is None else DeliveryView.of(delivery)
        return cls(action.request.request_id, action.request.verb.value, view, action.asked_at)
