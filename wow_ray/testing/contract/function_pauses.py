# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""What every store of pauses of durable functions promises: reasons beside each other, each ended by itself (H44)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from wow_ray.errors import StoreDataError
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.function_pauses import FunctionPauseAsked
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.refusing import NOT_STORABLE
from wow_ray.testing.contract.suite import Suite

ASKED = FunctionPauseAsked("q-1", "Stock.put_back", PauseReason.OPERATOR, "ann", "the carrier moves house")


class FunctionPausesContract(Suite):
    """The whole contract of `FunctionPauses`."""

    async def test_a_pause_is_present_for_everybody_and_in_the_audit(self, harness: Harness) -> None:
        """H44, P10: with who, why and since when; nothing was paused before."""
        pauses = harness.client.function_pauses
        assert list(await pauses.present()) == []

        action = await pauses.set(ASKED)

        (pause,) = await pauses.present()
        assert (pause.function, pause.reason, pause.actor, pause.text) == (
            ASKED.function,
            ASKED.reason,
            "ann",
            ASKED.text,
        )
        assert (pause.request_id, pause.ended_at) == ("q-1", None)
        assert action == await harness.client.ledger.intent("q-1")
        assert (action.request.verb, action.request.group, action.state) == (Verb.PAUSE, ASKED.function, "done")
        assert dict(action.outcome) == {"pause_reason": "operator", "pause": pause.id, "changed": True}
        assert action.ended_at is not None
        assert pause.since <= action.ended_at

    async def test_a_second_one_for_the_same_reason_keeps_the_first(self, harness: Harness) -> None:
        """H44: the first one's author stays; the second request stands in the audit as one that changed nothing."""
        pauses = harness.client.function_pauses
        await pauses.set(ASKED)
        again = await pauses.set(replace(ASKED, request_id="q-2", actor="bob"))
        assert not again.outcome["changed"]
        assert [pause.actor for pause in await pauses.present()] == ["ann"]

    async def test_ending_one_never_undoes_another(self, harness: Harness) -> None:
        """S83: a deploy's and an operator's stand beside each other, and other functions have their own."""
        pauses = harness.client.function_pauses
        deploy = replace(ASKED, request_id="q-2", reason=PauseReason.DEPLOY)
        other = replace(ASKED, request_id="q-3", function="grant")
        for each in (ASKED, deploy, other):
            await pauses.set(each)

        ended = await pauses.end(replace(ASKED, request_id="q-4", actor="bob", text="it is there"))

        assert (ended.request.verb, ended.outcome["changed"]) == (Verb.END_PAUSE, True)
        assert [(each.function, each.reason) for each in await pauses.present()] == [
            (deploy.function, PauseReason.DEPLOY),
            ("grant", PauseReason.OPERATOR),
        ]
        newest, oldest = await pauses.history(ASKED.function, 10)
        assert (newest.ended_at, oldest.ended_by, oldest.ended_text) == (None, "bob", "it is there")
        assert oldest.ended_at is not None
        assert list(await pauses.history(ASKED.function, 1)) == [newest]

    async def test_what_is_not_there_is_ended_without_change(self, harness: Harness) -> None:
        """It is answered as such, and stands in the audit."""
        action = await harness.client.function_pauses.end(ASKED)
        assert dict(action.outcome) == {"pause_reason": "operator", "pause": None, "changed": False}

    async def test_a_repeated_request_is_answered_as_the_first(self, harness: Harness) -> None:
        """P10: also when it was another wish; nothing is changed."""
        pauses = harness.client.function_pauses
        first = await pauses.set(ASKED)
        assert await pauses.set(ASKED) == first
        assert await pauses.end(ASKED) == first
        assert len(await pauses.present()) == 1

    async def test_of_many_at_once_one_makes_the_change(self, harness: Harness) -> None:
        """S85: twenty people, one row."""
        pauses = harness.client.function_pauses
        asked = [replace(ASKED, request_id=f"q-{n}", actor=f"a-{n}") for n in range(20)]
        actions = await asyncio.gather(*map(pauses.set, asked))
        assert sum(action.outcome["changed"] for action in actions) == 1
        assert len({action.outcome["pause"] for action in actions}) == 1

    @pytest.mark.parametrize("text", NOT_STORABLE)
    async def test_what_no_database_keeps_is_refused(self, harness: Harness, text: str) -> None:
        """S71: a NUL, a lone surrogate; nothing was changed, and the next request works."""
        pauses = harness.client.function_pauses
        with pytest.raises(StoreDataError):
            await pauses.set(replace(ASKED, text=text))
        await pauses.set(ASKED)
        assert len(await pauses.present()) == 1
