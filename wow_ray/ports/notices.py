"""The outbox of notices: facts that people are told of, and the deliveries that tell webhooks of them (P13).

Facts are written by owners with what they are about; here they are turned into deliveries, once, and deliveries are
sent until they arrive or are given up. All times are the store's. Any number of processes may do so at once: a fact is
routed once, and a delivery is in one attempt at a time, unless an attempt's process died or hung past its lease; then
the same id is sent again (at least once).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from wow_ray.policy.notices import Fact, NewDelivery
from wow_ray.ports.ledger import Intent


class DeliveryState(StrEnum):
    """How a delivery stands. `WAITING`: it is to be sent, or sent again; `FAILED`: given up."""

    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery as it stands.

    `attempts` were begun; `next_at` is when the next one may begin (`None` = no more). `status` and `error` are those
    of the last attempt that ended: `None` = no answer came, or none was tried; an empty error = it was taken.
    """

    id: str
    webhook: str
    kinds: tuple[str, ...]
    facts: int
    summary: str
    body: str
    state: DeliveryState
    attempts: int
    next_at: datetime | None
    created_at: datetime
    updated_at: datetime
    status: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery whose attempt number `delivery.attempts` has begun, and the store's time."""

    delivery: Delivery
    now: datetime


@dataclass(frozen=True, slots=True)
class Attempted:
    """How an attempt ended: taken, or not and tried again `again` seconds later (`None` = given up)."""

    id: str
    attempt: int
    taken: bool
    status: int | None
    error: str
    again: float | None = None


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Which deliveries to list, newest first; `None` = any. `before` is the id of the last one seen."""

    webhook: str | None = None
    states: frozenset[DeliveryState] = frozenset(DeliveryState)
    before: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Resend:
    """Somebody asks that a delivery be sent again from its first attempt, under its id."""

    request_id: str
    id: str
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a webhook said: its status (`None` = nothing came), and what was wrong (empty = it took the delivery).

    `retry_after` in seconds, `None` = it does not say.
    """

    status: int | None
    error: str = ""
    retry_after: float | None = None


def resend_refused(delivery: Delivery | None, delivery_id: str) -> tuple[str, str] | None:
    """Say with which code and text a resend is refused; `None` = it is done."""
    if delivery is None:
        return "not_found", f"there is no delivery {delivery_id!r}, or it is deleted"
    if delivery.state is DeliveryState.WAITING:
        return "waiting", f"it is to be sent anyway, after {delivery.attempts} attempts"
    return None


class Sender(Protocol):
    """The way to webhooks."""

    async def send(self, webhook: str, delivery: Delivery, now: datetime) -> Answer:
        """Send a delivery, signed as of `now`; in bounded time. Never raises: what goes wrong is in the answer."""
        ...


class Outbox(Protocol):
    """Facts and deliveries of one store. Raises `StoreUnavailableError`; what was asked may be asked again."""

    async def note_pauses(self, lasting: float) -> int:
        """Make facts of pauses that are present for so many seconds, and of told ones that are over; once each."""
        ...

    async def facts(self, limit: int) -> Sequence[Fact]:
        """Give facts that are to be told by now and are not routed, oldest first."""
        ...

    async def route(self, numbers: Sequence[int], deliveries: Sequence[NewDelivery]) -> bool:
        """Store the deliveries that these facts have led to, in one step; `False` = one is routed or withdrawn."""
        ...

    async def claim(self, webhook: str, lease: float) -> Claimed | None:
        """Begin an attempt of the webhook's delivery that is due the longest; `None` = none is due.

        Unless its end is told within `lease` seconds, the next attempt may begin.
        """
        ...

    async def attempted(self, ended: Attempted) -> bool:
        """Tell how an attempt ended; `False` = another attempt has begun since, and nothing is changed."""
        ...

    async def abandon(self, known: Sequence[str], error: str) -> int:
        """Give up what waits for webhooks that are not among the known ones; answers how many."""
        ...

    async def deliveries(self, wanted: DeliveryFilter) -> Sequence[Delivery]:
        """List deliveries, newest first."""
        ...

    async def delivery(self, delivery_id: str) -> Delivery | None:
        """Give a delivery; `None` = there is none, or it is deleted."""
        ...

    async def counts(self) -> Mapping[tuple[str, DeliveryState], int]:
        """Count the deliveries that are kept, by webhook and state."""
        ...

    async def add(self, delivery: NewDelivery, request_id: str, actor: str, reason: str) -> Intent:
        """Store a delivery that somebody asks for, with the action; a repeated request adds nothing."""
        ...

    async def resend(self, asked: Resend) -> Intent:
        """Have a delivery sent again, with the action as audit; refused with `not_found` or `waiting`."""
        ...

    async def now(self) -> datetime:
        """Give the store's time."""
        ...
