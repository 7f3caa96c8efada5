# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""What every store of pauses promises: reasons beside each other, each ended by itself, all kept (H44, S83)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from wow_ray.errors import NotFoundError, StoreDataError
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import PauseReason
from wow_ray.ports.pauses import KEPT_NOTES, PauseAsked, PauseNote
from wow_ray.testing.contract.harness import Harness
from wow_ray.testing.contract.refusing import NOT_STORABLE
from wow_ray.testing.contract.rows import MAILS, SALES
from wow_ray.testing.contract.suite import Suite

DETAIL = {"failing": ["order/o-1", "order/ö-2"], "error": "naïve ✓"}


class PausesContract(Suite):
    """The whole contract of `Pauses`."""

    async def test_nothing_is_paused_at_first(self, harness: Harness) -> None:
        """A new store holds nobody back."""
        number = await sales(harness)

        assert list(await harness.partition.pauses.present()) == []
        assert list(await harness.client.pauses.history(number, 10)) == []

    async def test_a_pause_is_present_for_everybody_with_who_why_and_since(self, harness: Harness) -> None:
        """H44: what one process stores, every partition finds."""
        number = await sales(harness)

        action = await harness.client.pauses.set(asked(number))

        (pause,) = await harness.another_partition().pauses.present()
        assert (pause.group, pause.number, pause.partition) == ("Sales", number, None)
        assert (pause.reason, pause.actor, pause.text) == (PauseReason.OPERATOR, "ann", "the carrier moves house")
        assert (pause.request_id, pause.ended_at) == ("q-1", None)
        assert action.ended_at is not None
        assert pause.since <= action.ended_at
        assert dict(action.outcome) == {
            "partition": None,
            "pause_reason": "operator",
            "pause": pause.id,
            "changed": True,
        }

    async def test_what_was_asked_is_an_action_in_the_audit(self, harness: Harness) -> None:
        """P10: who, what, why and when stand beside all other actions, and are done with their effect."""
        number = await sales(harness)

        action = await harness.client.pauses.set(asked(number))

        assert await harness.client.ledger.intent("q-1") == action
        assert (action.request.verb, action.request.group, action.state) == (Verb.PAUSE, "Sales", "done")
        assert (action.request.actor, action.request.reason) == ("ann", "the carrier moves house")
        assert action.ended_at is not None
        assert list(await harness.partition.ledger.open_intents(range(harness.slots))) == []

    async def test_a_second_pause_for_the_same_reason_keeps_the_first(self, harness: Harness) -> None:
        """H44: its time and its author are those of the one that stopped it; the second request is in the audit too."""
        number, pauses = await sales(harness), harness.client.pauses
        await pauses.set(asked(number))
        (first,) = await pauses.present()

        again = await pauses.set(asked(number, "q-2", actor="bob"))

        assert (again.outcome["changed"], again.outcome["pause"]) == (False, first.id)
        assert list(await pauses.present()) == [first]
        assert await harness.client.ledger.intent("q-2") == again

    @pytest.mark.parametrize("first", ["one", "other"])
    async def test_ending_one_pause_never_undoes_another(self, harness: Harness, first: str) -> None:
        """S83: two reasons stand beside each other, and end in either order."""
        number, pauses = await sales(harness), harness.client.pauses
        both = [asked(number, "q-1"), asked(number, "q-2", reason=PauseReason.DEPLOY)]
        for each in both:
            await pauses.set(each)
        ended, left = both if first == "one" else reversed(both)

        await pauses.end(replace(ended, request_id="q-3"))
        assert [pause.reason for pause in await pauses.present()] == [left.reason]

        await pauses.end(replace(left, request_id="q-4"))
        assert list(await pauses.present()) == []

    async def test_a_pause_of_a_partition_and_one_of_all_are_two(self, harness: Harness) -> None:
        """H44: ending the one leaves the other, also for the same reason."""
        number, pauses = await sales(harness), harness.client.pauses
        for n, partition in enumerate((None, "shop-0", "shop-1")):
            await pauses.set(asked(number, f"q-{n}", partition=partition))

        await pauses.end(asked(number, "q-8"))
        assert [pause.partition for pause in await pauses.present()] == ["shop-0", "shop-1"]
        await pauses.end(asked(number, "q-9", partition="shop-0"))
        assert [pause.partition for pause in await pauses.present()] == ["shop-1"]

    async def test_groups_are_paused_each_by_itself(self, harness: Harness) -> None:
        """D3: other groups go on."""
        number, pauses = await sales(harness), harness.client.pauses
        other = await group_of(harness, "Mails.on_paid")
        await pauses.set(asked(number, "q-1"))
        await pauses.set(asked(other, "q-2"))

        await pauses.end(asked(number, "q-3"))

        assert [pause.group for pause in await pauses.present()] == ["Mails.on_paid"]

    async def test_ending_a_pause_that_there_is_not_changes_nothing(self, harness: Harness) -> None:
        """P10: twice the same wish is no error, and the answer says so."""
        number, pauses = await sales(harness), harness.client.pauses
        await pauses.set(asked(number, "q-1"))

        (one, two) = [await pauses.end(asked(number, f"q-{n}")) for n in (2, 3)]

        assert (one.request.verb, one.outcome["changed"]) == (Verb.END_PAUSE, True)
        assert (two.outcome["changed"], two.outcome["pause"]) == (False, None)

    async def test_what_is_over_is_kept_with_who_ended_it_and_why(self, harness: Harness) -> None:
        """P10: the newest first, present ones among them."""
        number, pauses = await sales(harness), harness.client.pauses
        await pauses.set(asked(number, "q-1"))
        await pauses.end(asked(number, "q-2", actor="bob", text="it has moved"))
        await pauses.set(asked(number, "q-3"))

        (present, over) = await pauses.history(number, 10)

        assert (present.ended_at, present.ended_by, present.ended_text) == (None, "", "")
        assert (over.actor, over.ended_by, over.ended_text) == ("ann", "bob", "it has moved")
        assert over.ended_at is not None
        assert over.since <= over.ended_at
        assert [pause.id for pause in await pauses.history(number, 1)] == [present.id]

    async def test_a_request_is_carried_out_once(self, harness: Harness) -> None:
        """P10: repeated after the pause was ended it answers what became of it, and pauses nobody again."""
        number, pauses = await sales(harness), harness.client.pauses
        first = await pauses.set(asked(number, "q-1"))
        await pauses.end(asked(number, "q-2"))

        assert await pauses.set(asked(number, "q-1")) == first
        assert list(await pauses.present()) == []

    async def test_twenty_at_once_make_one_pause(self, harness: Harness) -> None:
        """P10: alike whether they carry one request or twenty."""
        number = await sales(harness)
        stores = [harness.client.pauses, harness.another_partition().pauses]

        answers = await asyncio.gather(
            *(store.set(asked(number, f"q-{n % 10}")) for store in stores for n in range(10))
        )

        (pause,) = await harness.client.pauses.present()
        assert {answer.outcome["pause"] for answer in answers} == {pause.id}
        assert len({answer.id for answer in answers if answer.outcome["changed"]}) == 1

    async def test_a_request_id_that_was_another_wish_answers_that_one(self, harness: Harness) -> None:
        """P10: the caller sees that it is not his."""
        number, pauses = await sales(harness), harness.client.pauses
        await pauses.set(asked(number, "q-1"))

        other = await pauses.end(asked(number, "q-1"))

        assert other.request.verb is Verb.PAUSE
        assert len(await pauses.present()) == 1

    async def test_a_group_that_there_is_not_cannot_be_paused(self, harness: Harness) -> None:
        """Nothing is stored, so the same request may name another group."""
        number, pauses = await sales(harness), harness.client.pauses

        with pytest.raises(NotFoundError):
            await pauses.set(asked(number + 99, "q-1"))
        with pytest.raises(NotFoundError):
            await pauses.note(PauseNote(number + 99, "shop-0", PauseReason.SYSTEMIC, "away"))

        assert (await pauses.set(asked(number, "q-1"))).outcome["changed"]

    async def test_a_pause_goes_with_a_group_that_is_renamed(self, harness: Harness) -> None:
        """L5: the group is the same, under its new name, and so are its pauses."""
        number, pauses = await sales(harness), harness.client.pauses
        await pauses.set(asked(number))
        renamed = replace(SALES, name="Turnover", aliases=("Sales",))
        await harness.client.slots.register([renamed, MAILS])

        (pause,) = await pauses.present()

        assert (pause.group, pause.number) == ("Turnover", number)

    @pytest.mark.parametrize("text", NOT_STORABLE)
    @pytest.mark.parametrize("field", ["request_id", "actor", "text", "partition"])
    async def test_a_text_the_database_does_not_take_is_refused(self, harness: Harness, field: str, text: str) -> None:
        """S71: it is the operator's error, not an outage, and nothing is paused."""
        number = await sales(harness)
        odd: dict[str, Any] = {field: text}

        with pytest.raises(StoreDataError):
            await harness.client.pauses.set(replace(asked(number), **odd))

        assert list(await harness.client.pauses.present()) == []

    # --- what partitions note of themselves

    async def test_a_partitions_own_pause_is_shown_and_told_anew(self, harness: Harness) -> None:
        """W7: since when stays, what is said of it is the newest; it is no operator's action."""
        number, pauses = await sales(harness), harness.partition.pauses
        await pauses.note(PauseNote(number, "shop-0", PauseReason.SYSTEMIC, "the carrier is away", DETAIL))
        (first,) = await pauses.present()

        await pauses.note(PauseNote(number, "shop-0", PauseReason.SYSTEMIC, "still away", {}))

        (pause,) = await pauses.present()
        assert (first.actor, first.text, dict(first.detail)) == ("shop-0", "the carrier is away", DETAIL)
        assert (first.request_id, first.partition) == ("", "shop-0")
        assert pause == replace(first, text="still away", detail={})

    async def test_what_a_partition_noted_ends_as_it_says_and_nothing_else_does(self, harness: Harness) -> None:
        """S83: never what somebody asked for, never what another partition noted."""
        number, pauses = await sales(harness), harness.partition.pauses
        other = await group_of(harness, "Mails.on_paid")
        await pauses.set(asked(number, partition="shop-0"))
        for each, partition, reason in (
            (number, "shop-0", PauseReason.SYSTEMIC),
            (number, "shop-0", PauseReason.MASS_FAILURE),
            (number, "shop-1", PauseReason.SYSTEMIC),
            (other, "shop-0", PauseReason.SYSTEMIC),
        ):
            await pauses.note(PauseNote(each, partition, reason, "away"))

        await pauses.over("shop-0", "it is back", number, PauseReason.SYSTEMIC)
        assert [(pause.number, pause.partition, pause.reason) for pause in await pauses.present()] == [
            (number, "shop-0", PauseReason.OPERATOR),
            (number, "shop-0", PauseReason.MASS_FAILURE),
            (number, "shop-1", PauseReason.SYSTEMIC),
            (other, "shop-0", PauseReason.SYSTEMIC),
        ]

        await pauses.over("shop-0", "started anew")
        left = [(pause.partition, pause.reason) for pause in await pauses.present()]
        assert left == [("shop-0", PauseReason.OPERATOR), ("shop-1", PauseReason.SYSTEMIC)]
        over = next(pause for pause in await pauses.history(number, 10) if pause.ended_text == "it is back")
        assert (over.reason, over.ended_by) == (PauseReason.SYSTEMIC, "shop-0")

    async def test_no_more_than_the_newest_notes_are_kept(self, harness: Harness) -> None:
        """H53: a group that pauses every minute for a year does not fill the disk; what people asked stays."""
        number, pauses = await sales(harness), harness.partition.pauses
        await pauses.set(asked(number))
        for n in range(KEPT_NOTES + 3):
            await pauses.note(PauseNote(number, "shop-0", PauseReason.SYSTEMIC, f"no {n}"))
            await pauses.over("shop-0", "back", number, PauseReason.SYSTEMIC)

        kept = await pauses.history(number, 10 * KEPT_NOTES)

        assert len(kept) <= KEPT_NOTES + 2
        assert (kept[0].text, kept[-1].reason) == (f"no {KEPT_NOTES + 2}", PauseReason.OPERATOR)


def asked(number: int, request_id: str = "q-1", **changes: Any) -> PauseAsked:  # noqa: ANN401 - the fields, checked by it
    """Make a request."""
    first = PauseAsked(request_id, number, None, PauseReason.OPERATOR, "ann", "the carrier moves house")
    return replace(first, **changes)


async def sales(harness: Harness) -> int:
    """Register the groups, and give the number of `Sales`."""
    return await group_of(harness, "Sales")


async def group_of(harness: Harness, name: str) -> int:
    """Register the groups, and give the number of one."""
    return (await harness.client.slots.register([SALES, MAILS]))[name].number
