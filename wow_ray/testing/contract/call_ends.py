# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""How claims of durable calls end: under their token, in time or not (F6, F7, H39)."""

from __future__ import annotations

from dataclasses import replace

from wow_ray.policy.durable_call import CallReason, CallState, Fallback
from wow_ray.policy.durable_endings import Again, Busy, Exhausted, FallBack, Succeeded, Uncharged, written
from wow_ray.ports.durable_calls import NOTICE_OF
from wow_ray.testing.contract.calling import (
    FAILURE,
    LEASE,
    OTHER,
    SHORT,
    CallsHarness,
    CallsSuite,
    asked,
    claim,
    found,
    new,
    one,
)


class CallEnds(CallsSuite):
    """What is written of a claim, and what happens when nothing is."""

    async def test_a_lease_that_runs_out_makes_a_call_claimable_again(self, store: CallsHarness) -> None:
        """F6: a worker that died is charged once; its late word changes nothing."""
        await store.calls.submit(new())
        (dead,) = await claim(store.calls, lease=SHORT)
        wait = await store.calls.next_due(["grant"])
        assert wait is not None
        assert 0 <= wait <= SHORT

        await store.pass_time(SHORT + 0.05)
        (heir,) = await claim(store.another())

        assert (heir.id, heir.attempts, heir.spent) == (dead.id, 2, 2)
        assert heir.token != dead.token
        assert await store.calls.finish([written(dead, Succeeded("1"))]) == {dead.id}
        assert await store.calls.extend([(dead.id, dead.token or "")], LEASE) == {dead.id}
        assert await found(store.calls, dead.id) == heir

    async def test_a_limit_does_not_count_who_is_dead(self, store: CallsHarness) -> None:
        """A lease that ran out holds no place."""
        for _ in range(2):
            await store.calls.submit(new())
        await claim(store.calls, most=1, limit=1, lease=SHORT)
        assert await claim(store.calls, limit=1) == []
        await store.pass_time(SHORT + 0.05)
        assert len(await claim(store.calls, most=1, limit=1)) == 1
        assert await claim(store.calls, limit=1) == []

    async def test_an_extended_lease_keeps_the_call(self, store: CallsHarness) -> None:
        """H39: claims are extended while they run."""
        await store.calls.submit(new())
        (row,) = await claim(store.calls, lease=SHORT)

        assert await store.calls.extend([(row.id, row.token or ""), ("gone", "t")], LEASE) == {"gone"}
        await store.pass_time(SHORT + 0.05)

        assert await claim(store.another()) == []
        assert await store.calls.finish([written(row, Succeeded("1"))]) == frozenset()

    async def test_a_result_is_kept_and_the_call_is_over(self, store: CallsHarness) -> None:
        """What it returned can be asked for; the same end again is told to be lost."""
        row = await one(store.calls)
        end = written(row, Succeeded('{"x":"é"}'))

        assert await store.calls.finish([end]) == frozenset()

        over = await found(store.calls, row.id)
        assert (over.state, over.result, over.token) == (CallState.SUCCEEDED, '{"x":"é"}', None)
        assert over.ended_at is not None
        assert over.etag > row.etag
        assert await store.calls.finish([end]) == {row.id}
        assert await claim(store.calls) == []

    async def test_a_failed_call_waits_and_keeps_its_first_cause(self, store: CallsHarness) -> None:
        """S102: the id, the priority and the headers stay, the attempt counts on; S103: it is claimable when due."""
        row = await one(store.calls, priority=3, headers={"trace": "t"})
        await store.calls.finish([written(row, Again(SHORT, FAILURE))])
        waiting = await found(store.calls, row.id)
        assert (waiting.state, waiting.failure, waiting.first_cause) == (CallState.WAITING, FAILURE, FAILURE)
        assert await claim(store.calls) == []

        await store.pass_time(SHORT)
        (again,) = await claim(store.calls)

        assert (again.id, again.attempts, again.spent, again.priority) == (row.id, 2, 2, 3)
        assert again.headers == {"trace": "t"}
        await store.calls.finish([written(again, Exhausted(CallReason.BUDGET_SPENT, OTHER))])
        over = await found(store.calls, row.id)
        assert (over.state, over.reason) == (CallState.EXHAUSTED, CallReason.BUDGET_SPENT)
        assert (over.failure, over.first_cause) == (OTHER, FAILURE)
        assert await store.calls.next_due(["grant"]) is None

    async def test_what_was_no_attempt_is_not_charged(self, store: CallsHarness) -> None:
        """Deploys cost nothing, a busy answer costs its own budget (D5), and a call left for others says since when."""
        row = await one(store.calls)
        await store.calls.finish([written(row, Uncharged(0.0, "stopped"))])
        (again,) = await claim(store.calls)
        assert (again.attempts, again.spent, again.note) == (1, 1, "stopped")
        await store.calls.finish([written(again, Busy(0.0, FAILURE))])
        (busy,) = await claim(store.calls)
        assert (busy.attempts, busy.spent, busy.busy) == (2, 1, 1)
        await store.calls.finish([written(busy, Uncharged(0.0, "cannot bind", aside=True))])
        since = (await found(store.calls, row.id)).aside_since
        assert since is not None
        (aside,) = await claim(store.calls)
        await store.calls.finish([written(aside, Uncharged(0.0, "cannot bind", aside=True))])
        assert (await found(store.calls, row.id)).aside_since == since

    async def test_a_fallback_runs_under_the_claim_and_once_more_after_a_crash(self, store: CallsHarness) -> None:
        """F7, S100: the claim is kept; its heir knows that it was begun; both errors are kept."""
        await store.calls.submit(new())
        (row,) = await claim(store.calls, lease=SHORT)
        assert await store.calls.finish([written(row, FallBack(CallReason.BUDGET_SPENT, FAILURE))]) == frozenset()
        begun = await found(store.calls, row.id)
        assert (begun.state, begun.token, begun.fallback) == (CallState.RUNNING, row.token, Fallback.BEGUN)

        await store.pass_time(SHORT + 0.05)
        (heir,) = await claim(store.calls)

        assert (heir.fallbacks, heir.attempts, heir.reason) == (2, row.attempts, CallReason.BUDGET_SPENT)
        end = Exhausted(CallReason.BUDGET_SPENT, None, Fallback.FAILED, OTHER)
        await store.calls.finish([written(heir, end)])
        over = await found(store.calls, row.id)
        assert (over.failure, over.fallback, over.fallback_failure) == (FAILURE, Fallback.FAILED, OTHER)

    async def test_many_ends_are_written_at_once_and_lost_ones_told(self, store: CallsHarness) -> None:
        """One lost claim keeps no other from its end."""
        for _ in range(5):
            await store.calls.submit(new())
        rows = await claim(store.calls)
        lost = replace(rows[2], token="somebody else's")  # noqa: S106 - no password

        ends = [written(row, Succeeded("1")) for row in (*rows[:2], lost, *rows[3:])]

        assert await store.calls.finish(ends) == {rows[2].id}
        assert await store.calls.finish([]) == frozenset()
        assert await store.calls.counts() == {("grant", CallState.RUNNING): 1}

    async def test_people_are_told_of_an_exhausted_call_once(self, store: CallsHarness) -> None:
        """P13, S105: in the outbox beside what is parked; neither its other ends nor a repetition tell anything."""
        for _ in range(3):
            await store.calls.submit(new())
        rows = await claim(store.calls)
        ends = [
            written(rows[0], Exhausted(CallReason.UNRECOVERABLE, FAILURE)),
            written(rows[1], Succeeded("1")),
            written(rows[2], Again(60.0, FAILURE)),
        ]
        await store.calls.finish(ends)
        assert await store.calls.finish(ends) == {row.id for row in rows}
        assert [told[1:] for told in await store.ledger.notices(0, 10)] == [("exhausted", f"{NOTICE_OF}{rows[0].id}")]

        await store.calls.ask(asked("retry", rows[0]))
        (again,) = await claim(store.calls)
        await store.calls.finish([written(again, Exhausted(CallReason.BUDGET_SPENT, FAILURE))])
        assert [told[1] for told in await store.ledger.notices(0, 10)] == ["exhausted", "exhausted"]
