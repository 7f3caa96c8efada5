"""The outbox of notices on Postgres."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

import asyncpg

from wow_ray.adapters.postgres.connect import Session, Sessions
from wow_ray.adapters.postgres.rows import intent_of, row_of
from wow_ray.policy.notices import Fact, Kind, NewDelivery
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import PauseReason, PauseSeen
from wow_ray.ports.ledger import Intent
from wow_ray.ports.notices import (
    Attempted,
    Claimed,
    Delivery,
    DeliveryFilter,
    DeliveryState,
    Resend,
    resend_refused,
)


class PostgresOutbox:
    """`ports.notices.Outbox` on Postgres, on somebody else's sessions: what it does is little and short."""

    def __init__(self, sessions: Sessions) -> None:
        """Use these sessions; whoever made them closes them."""
        self._sessions = sessions

    async def note_pauses(self, lasting: float) -> int:
        """See the port; the lock on numbering is taken only where there is something to number."""
        async with self._sessions.use() as session:
            if not (await session.one("pauses_to_tell", lasting))["any"]:
                return 0
            async with session.connection.transaction():
                await session.fetch("lock_numbering")
                return len(await session.fetch("note_told_pauses", lasting))

    async def facts(self, limit: int) -> Sequence[Fact]:
        """See the port."""
        async with self._sessions.use() as session:
            return tuple(map(_fact, await session.fetch("unrouted_facts", limit)))

    async def route(self, numbers: Sequence[int], deliveries: Sequence[NewDelivery]) -> bool:
        """See the port."""
        try:
            async with self._sessions.use() as session, session.connection.transaction():
                await _take(session, numbers)
                for delivery in deliveries:
                    await _add(session, delivery)
        except _GoneError:
            return False
        return True

    async def claim(self, webhook: str, lease: float) -> Claimed | None:
        """See the port."""
        async with self._sessions.use() as session:
            rows = await session.fetch("claim_delivery", webhook, lease)
        return Claimed(_delivery(rows[0]), rows[0]["now"]) if rows else None

    async def attempted(self, ended: Attempted) -> bool:
        """See the port."""
        told = (ended.id, ended.attempt, ended.taken, ended.status, ended.error, ended.again)
        async with self._sessions.use() as session:
            return bool(await session.fetch("end_attempt", *told))

    async def abandon(self, known: Sequence[str], error: str) -> int:
        """See the port."""
        async with self._sessions.use() as session:
            return len(await session.fetch("abandon_deliveries", list(known), error))

    async def deliveries(self, wanted: DeliveryFilter) -> Sequence[Delivery]:
        """See the port."""
        asked = (sorted(wanted.states), wanted.webhook, wanted.before, wanted.limit)
        async with self._sessions.use() as session:
            return tuple(map(_delivery, await session.fetch("list_deliveries", *asked)))

    async def delivery(self, delivery_id: str) -> Delivery | None:
        """See the port."""
        async with self._sessions.use() as session:
            return next(map(_delivery, await session.fetch("delivery_by_id", delivery_id)), None)

    async def counts(self) -> Mapping[tuple[str, DeliveryState], int]:
        """See the port."""
        async with self._sessions.use() as session:
            rows = await session.fetch("count_deliveries")
        return {(row["webhook"], DeliveryState(row["state"])): row["deliveries"] for row in rows}

    async def add(self, delivery: NewDelivery, request_id: str, actor: str, reason: str) -> Intent:
        """See the port."""
        async with self._sessions.use() as session, session.connection.transaction():
            who = (delivery.webhook, delivery.id, actor, reason, "done", "done", "")
            outcome = json.dumps({"delivery": delivery.id})
            action = await _acted(session, request_id, Verb.TEST_WEBHOOK, *who, outcome)
            if action is None:
                return await _action(session, request_id)
            await _add(session, delivery)
            return action

    async def resend(self, asked: Resend) -> Intent:
        """See the port."""
        async with self._sessions.use() as session, session.connection.transaction():
            found = next(map(_delivery, await session.fetch("lock_delivery", asked.id)), None)
            refused = resend_refused(found, asked.id)
            came = ("done", "done", "") if refused is None else ("refused", *refused)
            webhook = "" if found is None else found.webhook
            who = (webhook, asked.id, asked.actor, asked.reason)
            action = await _acted(session, asked.request_id, Verb.RESEND_NOTICE, *who, *came, "{}")
            if action is None:
                return await _action(session, asked.request_id)
            if refused is None:
                await session.fetch("send_again", asked.id)
            return action

    async def now(self) -> datetime:
        """See the port."""
        async with self._sessions.use() as session:
            now: datetime = (await session.one("outbox_time"))["now"]
        return now


class _GoneError(Exception):
    """A fact is routed, or taken back; what this transaction did is not."""


async def _take(session: Session, numbers: Sequence[int]) -> None:
    """Note facts as routed; raises `_GoneError` unless all of them were not."""
    if len(await session.fetch("route_facts", list(numbers))) != len(numbers):
        raise _GoneError


async def _add(session: Session, delivery: NewDelivery) -> None:
    """Store a delivery."""
    told = (delivery.id, delivery.webhook, list(delivery.kinds), delivery.facts, delivery.summary, delivery.body)
    await session.fetch("add_delivery", *told)


async def _acted(session: Session, request_id: str, verb: Verb, *told: str) -> Intent | None:
    """Store what was asked and what came of it; `None` = something is stored under the request."""
    return next(map(intent_of, await session.fetch("notice_action", request_id, verb.value, *told)), None)


async def _action(session: Session, request_id: str) -> Intent:
    """Give what is stored under a request."""
    return intent_of(await session.one("notice_action_of", request_id))


def _fact(record: asyncpg.Record) -> Fact:
    """Make a fact of its record."""
    row = None if record["id"] is None else row_of(record)
    pause, group, actor = None, "" if row is None else row.group, record["fact_actor"]
    if record["pause_group"] is not None:
        group = record["pause_group"]
        pause = PauseSeen(
            record["pause_partition"] or None,
            PauseReason(record["pause_reason"]),
            record["pause_since"],
            record["pause_text"],
            record["pause_ended_at"],
            record["pause_ended_by"],
        )
    about: str = record["fact_row"]
    call = about.removeprefix("call/") if about.startswith("call/") else ""
    kind, group = Kind(record["fact_kind"]), record["call_function"] or group
    why = record["fact_why"] or ""
    return Fact(record["fact_number"], kind, record["fact_at"], group, row, pause, actor or "", why, call)


def _delivery(record: asyncpg.Record) -> Delivery:
    """Make a delivery of its record."""
    return Delivery(
        id=record["id"],
        webhook=record["webhook"],
        kinds=tuple(record["kinds"]),
        facts=record["facts"],
        summary=record["summary"],
        body=record["body"],
        state=DeliveryState(record["state"]),
        attempts=record["attempts"],
        next_at=record["next_at"],
        created_at=record["created_at"],
        updated_at=record["updated_at"],
        status=record["status"],
        error=record["error"],
    )
