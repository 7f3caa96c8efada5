"""Pausing groups of a store in memory, as an operator's tool does, and telling what is paused."""

from __future__ import annotations

import itertools

from wow_ray.adapters.memory import MemoryStore
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.pauses import PauseAsked

_requests = itertools.count(1)


def number_of(memory: MemoryStore, group: str) -> int:
    """Give a group's number."""
    return memory._server.registry.groups[group].number  # noqa: SLF001 - looks into the store


def asked(memory: MemoryStore, group: str, reason: PauseReason, partition: str | None) -> PauseAsked:
    """Make a request of its own."""
    number = number_of(memory, group)
    return PauseAsked(f"pause-{next(_requests)}", number, partition, reason, "ann", "the carrier moves house")


async def pause(
    memory: MemoryStore, group: str, reason: PauseReason = PauseReason.OPERATOR, partition: str | None = None
) -> None:
    """Pause a group."""
    await memory.client_stores().pauses.set(asked(memory, group, reason, partition))


async def end(
    memory: MemoryStore, group: str, reason: PauseReason = PauseReason.OPERATOR, partition: str | None = None
) -> None:
    """End one pause."""
    await memory.client_stores().pauses.end(asked(memory, group, reason, partition))


async def present(memory: MemoryStore) -> list[tuple[str, str, str | None]]:
    """Give group, reason and partition of everything that is paused."""
    return [
        (pause.group, pause.reason.value, pause.partition) for pause in await memory.client_stores().pauses.present()
    ]
