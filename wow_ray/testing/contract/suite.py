# ruff: noqa: S101 - assert is how a contract speaks
"""What the suites have in common: their fixture, and the few sentences all of them use."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pydantic import BaseModel

from wow_ray.events import AggregateRef, Commit, StoredEvent
from wow_ray.ports.event_log import Interest, LogReader, Range
from wow_ray.testing.contract.harness import Harness, Placed

ALL = Interest(types=frozenset(), aggregates=frozenset({"order", "parcel"}))
"""Interest in everything the suites append."""


class Suite:
    """A suite of one port. Subclass it where pytest collects it, and override `harness`."""

    @pytest.fixture
    def harness(self) -> Harness:
        """Give an empty store; every adapter has its own."""
        raise NotImplementedError


async def append(harness: Harness, ref: AggregateRef, *bodies: BaseModel, expected: int | None = None) -> Commit:
    """Append, one `Placed` unless told what."""
    return await harness.client.events.append(ref, bodies or (Placed(),), expected_version=expected)


async def rows_of(reader: LogReader, *slots: int) -> list[StoredEvent]:
    """Read everything in these slots."""
    heads = await reader.heads(slots)
    page = await reader.page([Range(slot, 0, heads[slot], 100_000) for slot in slots], ALL)
    assert page.reached == heads
    return page.rows


def places(rows: Sequence[StoredEvent]) -> list[tuple[int, int]]:
    """Give the rows' slots and positions."""
    return [(row.slot, row.position) for row in rows]
