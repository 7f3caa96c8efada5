"""From stored rows to what handlers receive.

A body is decoded at most once per read, lazily, by the event class's own validator, and shared by the handlers that
want it; a retry decodes again, so that a handler that changed its event does not see the change (H31). A row of a
newer revision than the program's class, or one that does not validate, is undecodable: its aggregate is parked and
the feed goes on (P14, H21).
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wow_ray.errors import UndecodableError
from wow_ray.events import NO_SCOPE, AggregateRef, Event, Scope, StateEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wow_ray.events import EventSpec, StoredEvent

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def decode(row: StoredEvent, spec: EventSpec | None) -> Any:  # noqa: ANN401 - the author's own model
    """Give the body; raises `UndecodableError` with the reason when this program cannot read it.

    `None` = knows no such type.
    """
    if spec is None:
        msg = (
            f"{row.aggregate}/{row.aggregate_id}@{row.version}:{row.sequence} has type {row.type!r}, "
            f"which no class within reach of this program declares; deploy the class, then resume"
        )
        raise UndecodableError(msg)
    if row.revision > spec.revision:
        msg = (
            f"{row.aggregate}/{row.aggregate_id}@{row.version}:{row.sequence} is {row.type} revision {row.revision}; "
            f"{spec.cls.__qualname__} reads up to revision {spec.revision}; deploy the newer class, then resume"
        )
        raise UndecodableError(msg)
    try:
        return spec.cls.__pydantic_validator__.validate_json(row.payload)
    except Exception as error:
        msg = (
            f"{row.aggregate}/{row.aggregate_id}@{row.version}:{row.sequence} ({row.type} revision {row.revision}) "
            f"is no {spec.cls.__qualname__}: {str(error)[:500]}"
        )
        raise UndecodableError(msg) from error


def event_of(row: StoredEvent, body: object, ref: AggregateRef) -> Event[Any]:
    """Give the event as a handler of `Event[T]` receives it."""
    scope = NO_SCOPE if row.tenant_id is None and row.owner_id is None else Scope(row.tenant_id, row.owner_id)
    headers = NO_HEADERS if row.headers is None else json.loads(row.headers)
    return Event(body, ref, scope, row.version, row.sequence, row.occurred_at, headers)


def state_event_of(row: StoredEvent, body: object, ref: AggregateRef, state: object) -> StateEvent[Any, Any]:
    """Give the event as a handler of `StateEvent[S]` receives it, with the state as of this event."""
    plain = event_of(row, body, ref)
    return StateEvent(body, ref, plain.scope, row.version, row.sequence, row.occurred_at, plain.headers, state)
