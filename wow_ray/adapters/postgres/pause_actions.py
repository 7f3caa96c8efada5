"""What people asked of pauses, of groups and functions alike: found again by its request, ended with its outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping

from wow_ray.adapters.postgres.connect import Session
from wow_ray.adapters.postgres.rows import intent_of
from wow_ray.ports.ledger import Intent


async def repeated(session: Session, request_id: str) -> Intent | None:
    """Give what is stored under the request; `None` = nothing."""
    stored = await session.fetch("repeated_action", request_id)
    return intent_of(stored[0]) if stored else None


async def ended(session: Session, action_id: int, outcome: Mapping[str, object]) -> Intent:
    """Say what came of an action."""
    return intent_of(await session.one("pause_outcome", action_id, json.dumps(outcome)))
