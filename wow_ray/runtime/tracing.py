"""Spans of attempts, commits and reads of drains, for whatever OpenTelemetry the process has set up.

It is put around what is there: handlers, and two ports of a partition's stores. Where tracing is not asked for nothing
of this is imported, and nothing looks whether it is. A span is current in the handler's own context, so that spans of
its clients lie below it, and ends with the call, whatever it ends in.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.propagate import extract
from opentelemetry.trace import Link, SpanKind, Tracer

from wow_ray.events import Event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wow_ray.events import StoredEvent
    from wow_ray.ports.event_log import StreamWant
    from wow_ray.ports.slots import SlotWrite
    from wow_ray.ports.stores import PartitionStores
    from wow_ray.runtime.group import Handler

COMMIT, DRAIN = "wow_ray.commit", "wow_ray.drain.read"


class Tracing:
    """Has spans made in one process."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        """Use this tracer, else that of the process's own provider."""
        self._tracer = tracer or trace.get_tracer("wow_ray")

    def handler(self, handler: Handler) -> None:
        """Put a span around every attempt of a handler; the context it is told of its call by is given always."""
        made = _Attempted(self._tracer, handler.subscription, handler.function, wants_context=handler.wants_context)
        turn = handler.turn
        handler.function = made.called if handler.blocking else made.awaited
        handler.wants_context = handler.wants_context or turn is None

    def stores(self, stores: PartitionStores) -> PartitionStores:
        """Put a span around every commit, and every read of drains."""
        slots: Any = _Through(stores.slots, commit=partial(_commit, self._tracer, stores.slots.commit))
        drains: Any = _Through(stores.drains, streams=partial(_streams, self._tracer, stores.drains.streams))
        return replace(stores, slots=slots, drains=drains)


class _Attempted:
    """A handler with a span around it."""

    def __init__(self, tracer: Tracer, subscription: str, function: Callable[..., Any], *, wants_context: bool) -> None:
        self._tracer = tracer
        self._subscription = subscription
        self._function = function
        self._wants_context = wants_context

    async def awaited(self, *arguments: Any) -> Any:  # noqa: ANN401 - the handler's
        """Call it."""
        with self._span(arguments):
            return await self._function(*self._own(arguments))

    def called(self, *arguments: Any) -> Any:  # noqa: ANN401 - the handler's
        """Call one that blocks."""
        with self._span(arguments):
            return self._function(*self._own(arguments))

    def _own(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Give what the handler takes; calls made elsewhere take all of it."""
        return arguments if self._wants_context or len(arguments) > 2 else arguments[:1]  # noqa: PLR2004 - event and ctx

    def _span(self, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - a context manager of the API's
        """Begin a span; it is linked to the trace that the event's headers name, if they do."""
        told = arguments[-1]
        return self._tracer.start_as_current_span(
            self._subscription,
            kind=SpanKind.CONSUMER,
            links=_links(arguments[0]),
            attributes={
                "wow_ray.subscription": self._subscription,
                "wow_ray.aggregate": told.ref.aggregate,
                "wow_ray.aggregate_id": told.ref.id,
                "wow_ray.invocation_key": told.invocation_key,
                "wow_ray.attempt": told.attempt,
            },
        )


def _links(event: object) -> list[Link]:
    """Find the trace that an event was appended in, by its headers (`traceparent`)."""
    headers: Mapping[str, Any] | None = event.headers if isinstance(event, Event) else None
    if not headers or "traceparent" not in headers:
        return []
    found = trace.get_current_span(extract({name: str(value) for name, value in headers.items()})).get_span_context()
    return [Link(found)] if found.is_valid else []


class _Through:
    """A port whose methods are another's, but for some that are put over them."""

    def __init__(self, inner: Any, **over: Callable[..., Any]) -> None:  # noqa: ANN401 - a port
        self._inner = inner
        vars(self).update(over)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the port has
        return getattr(self._inner, name)


async def _commit(
    tracer: Tracer, commit: Callable[[Sequence[SlotWrite]], Coroutine[Any, Any, datetime]], writes: Sequence[SlotWrite]
) -> datetime:
    """Commit."""
    rows = sum(len(write.rows) for write in writes)
    attributes = {"wow_ray.slots": len(writes), "wow_ray.ledger_rows": rows}
    with tracer.start_as_current_span(COMMIT, attributes=attributes):
        return await commit(writes)


async def _streams(
    tracer: Tracer,
    streams: Callable[[Sequence[StreamWant], int], Coroutine[Any, Any, Sequence[list[StoredEvent]]]],
    wants: Sequence[StreamWant],
    limit: int,
) -> Sequence[list[StoredEvent]]:
    """Read for drains."""
    with tracer.start_as_current_span(DRAIN, attributes={"wow_ray.aggregates": len(wants)}) as span:
        found = await streams(wants, limit)
        span.set_attribute("wow_ray.events", sum(map(len, found)))
        return found
