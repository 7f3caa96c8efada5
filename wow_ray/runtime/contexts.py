"""The `ctx` of a call: its invocation key, its number, and for a projection its connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wow_ray.handlers.contexts import ProjectContext, ReactContext
from wow_ray.names import invocation_key

if TYPE_CHECKING:
    from wow_ray.events import AggregateRef
    from wow_ray.runtime.group import Handler
    from wow_ray.runtime.lane import Cell, Lane


def context_of(  # noqa: PLR0917 - what is called, with what, and how keys begin
    lane: Lane,
    cell: Cell,
    handler: Handler,
    ref: AggregateRef,
    key_prefix: str,
    connection: Any = None,  # noqa: ANN401 - the driver's own
) -> ReactContext | ProjectContext:
    """Make it; its attempt counts the event's calls in the row it is in (live budget or parked)."""
    row = cell.row
    key = invocation_key(handler.key_name, row.aggregate_id, row.version, row.sequence, key_prefix)
    attempt = lane.spent.attempts + lane.spent.backpressure + 1
    if lane.row is not None and lane.retrying:
        attempt = lane.row.retries + 1
    if connection is not None:
        return ProjectContext(key, attempt, handler.subscription, ref, connection)
    return ReactContext(key, attempt, handler.subscription, ref)
