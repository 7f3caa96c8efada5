# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""What every store of batches promises: frozen rows, one runner at a time, and what came of each, kept (P12, S87)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from wow_ray.errors import StoreDataError
from wow_ray.policy.batches import RESUMABLE, Outcome, Stage
from wow_ray.ports.batches import Asked, Item, NewBatch
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.refusing import NOT_STORABLE
from wow_ray.testing.contract.suite import Suite

ITEMS = tuple(Item(f"r-{number}", number, f'{{"text":"✓ {number}"}}') for number in (3, 1, 2))
NEW = NewBatch("b-1", "parked", "resume", False, ITEMS)  # noqa: FBT003 - as it reads
ASKED = Asked("runner-1", "ann", "the carrier is back", 5.0)
PREVIEW = frozenset({Stage.PREVIEW})
LONG, OVER = 60.0, 0.0


class BatchesContract(Suite):
    """The whole contract of `BatchStore`."""

    async def test_what_was_frozen_is_kept_in_its_order(self, harness: Harness) -> None:
        """P12: rows, etags and how they were shown; nothing was asked."""
        store = harness.client.batches
        await store.keep(NEW)
        found = await store.find("parked", "b-1")
        assert found is not None
        assert (found.stage, found.verb, found.more, found.size) == (Stage.PREVIEW, "resume", False, 3)
        assert (found.actor, found.reason, found.rate, found.why) == ("", "", None, "")
        assert found.counts == dict.fromkeys(Outcome, 0)
        assert [each for each, _ in await store.items("b-1")] == list(ITEMS)
        assert {outcome for _, outcome in await store.items("b-1")} == {None}
        assert await store.find("calls", "b-1") is None
        assert await store.find("parked", "b-2") is None
        assert list(await store.items("b-2")) == []

    async def test_they_are_listed_by_kind_the_newest_first(self, harness: Harness) -> None:
        """One without rows among them."""
        store = harness.client.batches
        for batch in (NEW, replace(NEW, id="b-2", kind="calls"), replace(NEW, id="b-3", items=(), more=True)):
            await store.keep(batch)
        assert [(each.id, each.size, each.more) for each in await store.listed("parked", 10)] == [
            ("b-3", 0, True),
            ("b-1", 3, False),
        ]
        assert [each.id for each in await store.listed("parked", 1)] == ["b-3"]
        assert [each.id for each in await store.listed("calls", 10)] == ["b-2"]

    async def test_of_many_that_begin_one_does(self, harness: Harness) -> None:
        """S85: with who and why; the others are told that they have not."""
        store = harness.client.batches
        await store.keep(NEW)
        every = [replace(ASKED, runner=f"r-{n}", actor=f"a-{n}") for n in range(20)]
        begun = await asyncio.gather(*(store.begin("parked", "b-1", PREVIEW, each, LONG) for each in every))
        assert sum(begun) == 1
        found = await store.find("parked", "b-1")
        assert found is not None
        assert (found.stage, found.actor, found.rate) == (Stage.CANARY, every[begun.index(True)].actor, 5.0)
        assert not await store.begin("calls", "b-1", frozenset(Stage), ASKED, LONG)
        assert not await store.begin("parked", "b-2", frozenset(Stage), ASKED, LONG)

    async def test_what_came_of_a_row_is_noted_once(self, harness: Harness) -> None:
        """A runner that was taken for dead changes no count."""
        store = harness.client.batches
        await store.keep(NEW)
        await store.came("b-1", "r-1", Outcome.RECOVERED)
        await store.came("b-1", "r-1", Outcome.FAILED)
        await store.came("b-1", "r-2", Outcome.CHANGED)
        await store.came("b-1", "r-9", Outcome.CHANGED)
        found = await store.find("parked", "b-1")
        assert found is not None
        assert {each: n for each, n in found.counts.items() if n} == {Outcome.RECOVERED: 1, Outcome.CHANGED: 1}
        assert [outcome for _, outcome in await store.items("b-1")] == [None, Outcome.RECOVERED, Outcome.CHANGED]

    async def test_one_whose_runner_is_gone_is_interrupted_and_taken_over(self, harness: Harness) -> None:
        """S87: by the store's clock; whoever ran it before has no say any more."""
        store = harness.client.batches
        await store.keep(NEW)
        assert await store.begin("parked", "b-1", PREVIEW, ASKED, LONG)
        assert await store.beat("b-1", "runner-1", Stage.RUNNING, LONG)
        assert not await store.begin("parked", "b-1", RESUMABLE, replace(ASKED, runner="runner-2"), LONG)
        assert await store.beat("b-1", "runner-1", Stage.RUNNING, OVER)
        found = await store.find("parked", "b-1")
        assert found is not None
        assert found.stage is Stage.INTERRUPTED

        assert await store.begin("parked", "b-1", RESUMABLE, replace(ASKED, runner="runner-2", actor="bob"), LONG)

        assert not await store.beat("b-1", "runner-1", Stage.RUNNING, LONG)
        await store.end("b-1", "runner-1", Stage.DONE, "")
        found = await store.find("parked", "b-1")
        assert found is not None
        assert (found.stage, found.actor) == (Stage.CANARY, "bob")

    @pytest.mark.parametrize("stage", [Stage.DONE, Stage.STOPPED, Stage.INTERRUPTED])
    async def test_its_runner_ends_it(self, harness: Harness, stage: Stage) -> None:
        """Done, stopped with a reason, or let go for somebody else to resume at once."""
        store = harness.client.batches
        await store.keep(NEW)
        assert await store.begin("parked", "b-1", PREVIEW, ASKED, LONG)
        await store.end("b-1", "runner-1", stage, "so it is")
        found = await store.find("parked", "b-1")
        assert found is not None
        assert found.stage is stage
        assert found.why == ("" if stage is Stage.INTERRUPTED else "so it is")
        assert await store.begin("parked", "b-1", RESUMABLE, ASKED, LONG) == (stage in RESUMABLE)

    async def test_anybody_stops_it_and_its_runner_is_told(self, harness: Harness) -> None:
        """Also before it has begun, once; what has ended stays as it is."""
        store = harness.client.batches
        await store.keep(NEW)
        assert await store.begin("parked", "b-1", PREVIEW, ASKED, LONG)
        assert not await store.stop("calls", "b-1", "ann stopped it")
        assert await store.stop("parked", "b-1", "ann stopped it")
        assert not await store.stop("parked", "b-1", "bob stopped it")
        assert not await store.beat("b-1", "runner-1", Stage.RUNNING, LONG)
        await store.end("b-1", "runner-1", Stage.DONE, "")
        found = await store.find("parked", "b-1")
        assert found is not None
        assert (found.stage, found.why) == (Stage.STOPPED, "ann stopped it")

    @pytest.mark.parametrize("text", NOT_STORABLE)
    async def test_what_no_database_keeps_is_refused(self, harness: Harness, text: str) -> None:
        """S71: a NUL, a lone surrogate; nothing was changed, and the next request works."""
        store = harness.client.batches
        await store.keep(NEW)
        refused: list[Callable[[], Awaitable[object]]] = [
            lambda: store.keep(replace(NEW, id=text)),
            lambda: store.begin("parked", "b-1", PREVIEW, replace(ASKED, reason=text), LONG),
        ]
        for ask in refused:
            with pytest.raises(StoreDataError):
                await ask()
        assert await store.begin("parked", "b-1", PREVIEW, ASKED, LONG)
