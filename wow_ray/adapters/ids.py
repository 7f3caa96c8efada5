"""Ids that sort by the time they were made."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from uuid import UUID

from wow_ray.ports.clock import Clock


def time_ordered_ids(clock: Clock) -> Callable[[], str]:
    """Give a source of ids that sort by the time they were made, to the millisecond (UUIDs of version 7)."""

    def new_id() -> str:
        milliseconds = int(clock.now().timestamp() * 1_000)
        number = milliseconds << 80 | secrets.randbits(80)
        number = number & ~(0xF << 76) | 0x7 << 76
        return str(UUID(int=number & ~(0x3 << 62) | 0x2 << 62))

    return new_id
