# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""What every failure ledger promises to operators who ask for something (P10)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from wow_ray.errors import FencedError, StoreDataError
from wow_ray.policy.parked import State
from wow_ray.ports.ledger import Intent
from wow_ray.ports.slots import IntentDone
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.refusing import NOT_STORABLE
from wow_ray.testing.contract.rows import owning
from wow_ray.testing.contract.suite import Suite


class Asking(Suite):
    """Intents: what operators ask for, and what came of it (P10)."""

    async def test_an_intent_is_stored_as_asked(self, harness: Harness) -> None:
        """H5: that row is the audit: who, why, what, and when by the store's time."""
        partition = await owning(harness)
        wanted = partition.intent(etag=None, through_version=12)

        intent = await harness.client.ledger.ask(wanted)

        assert (intent.request, intent.state, dict(intent.outcome), intent.ended_at) == (wanted, "asked", {}, None)
        assert partition.now <= intent.asked_at
        assert await harness.client.ledger.intent("q-1") == intent
        assert await harness.client.ledger.intent("q-2") is None

    async def test_a_request_is_stored_once(self, harness: Harness) -> None:
        """P10: repeated, alone or twenty at once, it gives the intent that is there."""
        partition = await owning(harness)
        stores = [harness.client.ledger, harness.another_partition().ledger]

        intents = await asyncio.gather(*(store.ask(partition.intent()) for store in stores for _ in range(10)))

        assert all(intent == intents[0] for intent in intents)
        assert list(await harness.partition.ledger.open_intents([3])) == [intents[0]]

    async def test_a_repeated_request_keeps_what_was_asked_first(self, harness: Harness) -> None:
        """P10: the id names the request; another wish needs another id."""
        partition = await owning(harness)
        first = await harness.client.ledger.ask(partition.intent())

        again = await harness.client.ledger.ask(partition.intent(actor="bob", etag=9))

        assert again == first

    @pytest.mark.parametrize("text", NOT_STORABLE)
    @pytest.mark.parametrize("field", ["request_id", "actor", "reason"])
    async def test_a_request_the_database_does_not_take_is_refused(
        self, harness: Harness, field: str, text: str
    ) -> None:
        """S71: what an operator pastes is the operator's error, not an outage."""
        partition = await owning(harness)
        odd: dict[str, Any] = {field: text}

        with pytest.raises(StoreDataError):
            await harness.client.ledger.ask(replace(partition.intent(), **odd))

        assert list(await harness.partition.ledger.open_intents([3])) == []

    async def test_waiting_intents_are_given_by_slot_oldest_first(self, harness: Harness) -> None:
        """P10: the owner of the slot applies them; S30: no slots, no intents."""
        partition = await owning(harness)
        for n, slot in enumerate([3, 4, 3, 5]):
            await harness.client.ledger.ask(partition.intent(f"q-{9 - n}", slot=slot))

        ledger = harness.partition.ledger
        assert _requests(await ledger.open_intents([3, 5, 6])) == ["q-9", "q-7", "q-6"]
        assert list(await ledger.open_intents([])) == []

    @pytest.mark.parametrize("applied", [True, False])
    async def test_effect_and_outcome_of_an_intent_are_one_commit(self, harness: Harness, applied: bool) -> None:  # noqa: FBT001 - a case
        """P10, H5: then the intent waits no more, and a repeat of the request learns how it ended."""
        partition = await owning(harness)
        intent = await harness.client.ledger.ask(partition.intent())
        outcome = {"events": 3, "through": {"version": 7, "sequence": 1}, "note": "naïve ✓"}
        row = partition.row(state=State.RETRYING, etag=2)
        done = IntentDone(intent.id, applied, "resumed" if applied else "conflict", "as you wish", outcome)

        at = await partition.commit(partition.write(rows=(row,), intents=(done,)))

        stored = await harness.client.ledger.ask(partition.intent())
        assert (stored.id, stored.request) == (intent.id, intent.request)
        assert (stored.state, stored.code, stored.text) == ("done" if applied else "refused", done.code, done.text)
        assert dict(stored.outcome) == outcome
        assert stored.ended_at is not None
        assert stored.asked_at <= stored.ended_at <= at + timedelta(seconds=1)
        assert list(await harness.partition.ledger.open_intents([3])) == []
        assert await harness.client.ledger.row("r-1") == row

    async def test_an_owner_that_has_lost_its_slot_ends_no_intent(self, harness: Harness) -> None:
        """H5: the successor finds it still asked, and the row unchanged."""
        old = await owning(harness)
        intent = await harness.client.ledger.ask(old.intent())
        new = await owning(harness)

        with pytest.raises(FencedError):
            await old.commit(
                old.write(rows=(old.row(),), intents=(IntentDone(intent.id, applied=True, code="", text=""),))
            )

        assert list(await new.harness.partition.ledger.open_intents([3])) == [intent]
        assert await harness.client.ledger.row("r-1") is None


def _requests(intents: Sequence[Intent]) -> list[str]:
    """Give the ids of the requests."""
    return [intent.request.request_id for intent in intents]
