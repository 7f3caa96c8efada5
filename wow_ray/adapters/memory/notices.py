"""The outbox of notices, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from wow_ray.policy.notices import Fact, Kind, NewDelivery, told_of
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import PauseSeen
from wow_ray.ports.ledger import Intent, NewIntent
from wow_ray.ports.notices import (
    Attempted,
    Claimed,
    Delivery,
    DeliveryFilter,
    DeliveryState,
    Resend,
    resend_refused,
)

if TYPE_CHECKING:
    from wow_ray.adapters.memory.rows import Noted
    from wow_ray.adapters.memory.server import Server
    from wow_ray.ports.pauses import Pause

T = TypeVar("T")

OF_ROWS = frozenset({Verb.RESUME, Verb.SKIP, Verb.SKIP_ONE})


class MemoryOutbox:
    """`ports.notices.Outbox` in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def note_pauses(self, lasting: float) -> int:
        """See the port."""
        return await self._write(lambda: self._note_pauses(timedelta(seconds=lasting)))

    async def facts(self, limit: int) -> Sequence[Fact]:
        """See the port."""
        return await self._read(lambda: tuple(map(self._fact, self._unrouted()[:limit])))

    async def route(self, numbers: Sequence[int], deliveries: Sequence[NewDelivery]) -> bool:
        """See the port."""
        return await self._write(lambda: self._route(frozenset(numbers), deliveries))

    async def claim(self, webhook: str, lease: float) -> Claimed | None:
        """See the port."""
        return await self._write(lambda: self._claim(webhook, timedelta(seconds=lease)))

    async def attempted(self, ended: Attempted) -> bool:
        """See the port."""
        return await self._write(lambda: self._attempted(ended))

    async def abandon(self, known: Sequence[str], error: str) -> int:
        """See the port."""
        return await self._write(lambda: self._abandon(frozenset(known), error))

    async def deliveries(self, wanted: DeliveryFilter) -> Sequence[Delivery]:
        """See the port."""
        return await self._read(lambda: self._list(wanted))

    async def delivery(self, delivery_id: str) -> Delivery | None:
        """See the port."""
        return await self._read(lambda: self._server.deliveries.get(delivery_id))

    async def counts(self) -> Mapping[tuple[str, DeliveryState], int]:
        """See the port."""
        return await self._read(lambda: Counter((one.webhook, one.state) for one in self._server.deliveries.values()))

    async def add(self, delivery: NewDelivery, request_id: str, actor: str, reason: str) -> Intent:
        """See the port."""
        return await self._write(lambda: self._add(delivery, request_id, actor, reason))

    async def resend(self, asked: Resend) -> Intent:
        """See the port."""
        return await self._write(lambda: self._resend(asked))

    async def now(self) -> datetime:
        """See the port."""
        return self._server.now()

    async def _read(self, work: Callable[[], T]) -> T:
        return await self._server.faults.run("outbox.read", work)

    async def _write(self, work: Callable[[], T]) -> T:
        return await self._server.faults.run("outbox.write", work)

    def _note_pauses(self, lasting: timedelta) -> int:
        server, now = self._server, self._server.now()
        before = len(server.rows.notices)
        for pause in server.pauses:
            if pause.ended_at is None and pause.id not in server.told_pauses and pause.since <= now - lasting:
                server.told_pauses.add(pause.id)
                server.rows.tell("paused", f"pause/{pause.id}", 0, now)
            elif pause.ended_at is not None and pause.id in server.told_pauses:
                server.told_pauses.discard(pause.id)
                server.rows.tell("back", f"pause/{pause.id}", 0, now)
        return len(server.rows.notices) - before

    def _unrouted(self) -> list[Noted]:
        now = self._server.now()
        return [noted for noted in self._server.rows.notices if noted.routed_at is None and noted.at <= now]

    def _fact(self, noted: Noted) -> Fact:
        """Put together what a fact is about."""
        rows, kind = self._server.rows, Kind(noted.kind)
        if noted.row_id.startswith("pause/"):
            number = int(noted.row_id.removeprefix("pause/"))
            found = next((pause for pause in self._server.pauses if pause.id == number), None)
            group = "" if found is None else self._group(found)
            return Fact(noted.number, kind, noted.since, group, pause=None if found is None else _seen(found))
        if noted.row_id.startswith("call/"):
            call = noted.row_id.removeprefix("call/")
            stored = self._server.calls.rows.get(call)
            return Fact(noted.number, kind, noted.since, "" if stored is None else stored.function, call=call)
        row = rows.by_id.get(noted.row_id)
        actor = why = ""
        if kind in {Kind.RESUMED, Kind.SKIPPED}:
            for intent in rows.intents.values():
                asked = intent.request
                if asked.row_id == noted.row_id and intent.state == "done" and asked.verb in OF_ROWS:
                    actor, why = asked.actor, asked.reason
        told = None if row is None else told_of(row)
        return Fact(noted.number, kind, noted.since, "" if row is None else row.group, told, None, actor, why)

    def _group(self, pause: Pause) -> str:
        """Give the present name of a pause's group."""
        groups = self._server.registry.groups.values()
        return next((group.name for group in groups if group.number == pause.number), pause.group)

    def _route(self, numbers: frozenset[int], deliveries: Sequence[NewDelivery]) -> bool:
        rows, now = self._server.rows, self._server.now()
        if numbers - {noted.number for noted in rows.notices if noted.routed_at is None}:
            return False
        rows.notices = [one._replace(routed_at=now) if one.number in numbers else one for one in rows.notices]
        for delivery in deliveries:
            self._put_new(delivery)
        return True

    def _put_new(self, new: NewDelivery) -> None:
        now = self._server.now()
        told = (new.id, new.webhook, new.kinds, new.facts, new.summary, new.body)
        self._server.deliveries[new.id] = Delivery(*told, DeliveryState.WAITING, 0, now, now, now)

    def _claim(self, webhook: str, lease: timedelta) -> Claimed | None:
        now = self._server.now()
        due = [
            (one.next_at, one.id, one)
            for one in self._server.deliveries.values()
            if one.webhook == webhook
            and one.state is DeliveryState.WAITING
            and one.next_at is not None
            and one.next_at <= now
        ]
        if not due:
            return None
        delivery = min(due, key=lambda one: one[:2])[2]
        begun = replace(delivery, attempts=delivery.attempts + 1, next_at=now + lease, updated_at=now)
        self._server.deliveries[begun.id] = begun
        return Claimed(begun, now)

    def _attempted(self, ended: Attempted) -> bool:
        now, found = self._server.now(), self._server.deliveries.get(ended.id)
        if found is None or found.state is not DeliveryState.WAITING or found.attempts != ended.attempt:
            return False
        again = None if ended.taken or ended.again is None else now + timedelta(seconds=ended.again)
        left = DeliveryState.FAILED if again is None else DeliveryState.WAITING
        state = DeliveryState.SENT if ended.taken else left
        told = replace(found, state=state, next_at=again, status=ended.status, error=ended.error, updated_at=now)
        self._server.deliveries[found.id] = told
        return True

    def _abandon(self, known: frozenset[str], error: str) -> int:
        now = self._server.now()
        lost = [
            one
            for one in self._server.deliveries.values()
            if one.state is DeliveryState.WAITING and one.webhook not in known
        ]
        for one in lost:
            gone = replace(one, state=DeliveryState.FAILED, next_at=None, error=error, updated_at=now)
            self._server.deliveries[one.id] = gone
        return len(lost)

    def _list(self, wanted: DeliveryFilter) -> list[Delivery]:
        found = [
            one
            for one in self._server.deliveries.values()
            if one.state in wanted.states
            and wanted.webhook in {None, one.webhook}
            and (wanted.before is None or one.id < wanted.before)
        ]
        return sorted(found, key=lambda one: one.id, reverse=True)[: wanted.limit]

    def _add(self, new: NewDelivery, request_id: str, actor: str, reason: str) -> Intent:
        rows = self._server.rows
        if request_id in rows.intents:
            return rows.intents[request_id]
        self._put_new(new)
        asked = _intent(request_id, Verb.TEST_WEBHOOK, (new.webhook, new.id), actor, reason)
        return rows.acted(asked, {"delivery": new.id}, self._server.now())

    def _resend(self, asked: Resend) -> Intent:
        rows, now, found = self._server.rows, self._server.now(), self._server.deliveries.get(asked.id)
        if asked.request_id in rows.intents:
            return rows.intents[asked.request_id]
        webhook = "" if found is None else found.webhook
        intent = _intent(asked.request_id, Verb.RESEND_NOTICE, (webhook, asked.id), asked.actor, asked.reason)
        stored = rows.acted(intent, {}, now)
        if (refused := resend_refused(found, asked.id)) is not None:
            stored = rows.intents[asked.request_id] = replace(stored, state="refused", code=refused[0], text=refused[1])
        elif found is not None:
            again = replace(found, state=DeliveryState.WAITING, attempts=0, next_at=now, updated_at=now)
            self._server.deliveries[found.id] = again
        return stored


def _intent(request_id: str, verb: Verb, of: tuple[str, str], actor: str, reason: str) -> NewIntent:
    """Give a request on a delivery as the action that stands in the audit."""
    return NewIntent(request_id, verb, of[0], 0, "notice", of[1], None, None, None, actor, reason)


def _seen(pause: Pause) -> PauseSeen:
    """Give what is told of a pause."""
    return PauseSeen(pause.partition, pause.reason, pause.since, pause.text, pause.ended_at, pause.ended_by)
