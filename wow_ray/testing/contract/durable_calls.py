# ruff: noqa: PLR2004, S101 - assert is how a contract speaks, and its numbers are examples
"""What every store of durable calls promises: claims under tokens and leases, and one guarded end of each (F6, H39)."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any, Protocol

import pytest

from wow_ray.errors import CallError, StoreDataError
from wow_ray.failure import Category, Failure
from wow_ray.policy.durable_asked import CallAsked, CallVerb
from wow_ray.policy.durable_call import CallReason, CallRow, CallState, Fallback, NewCall
from wow_ray.policy.durable_endings import Again, Busy, Exhausted, FallBack, Succeeded, Uncharged, written
from wow_ray.policy.parked import Verb
from wow_ray.ports.durable_calls import CallFilter, DurableCalls, Wanted
from wow_ray.testing.contract.refusing import NOT_STORABLE, ODD

FAILURE = Failure(Category.RECOVERABLE, "default", "ValueError", "naïve ✓ 'quoted'", "Traceback…", "0123456789abcdef")
OTHER = replace(FAILURE, type="KeyError", fingerprint="fedcba9876543210")
LEASE = 60.0
SHORT = 0.2
ANY = frozenset(CallState)
_numbers = count(1)


class CallsHarness(Protocol):
    """An empty store of durable calls. `transactions` tells whether calls can be stored in a caller's own."""

    calls: DurableCalls
    transactions: bool

    def another(self) -> DurableCalls:
        """Give the same store as another process has it."""
        ...

    async def pass_time(self, seconds: float) -> None:
        """Let the store's clock go on by so much at least."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Open a caller's own transaction and give its connection."""
        ...


def new(function: str = "grant", **given: Any) -> NewCall:  # noqa: ANN401 - fields of the value
    """Make a call with an id of its own."""
    return NewCall(**{"id": f"c-{next(_numbers):06}", "function": function, "payload": '{"v":1,"a":{}}', **given})


async def claim(
    calls: DurableCalls, *functions: str, most: int = 100, lease: float = LEASE, limit: int | None = None
) -> list[CallRow]:
    """Claim with room for as many as are asked for."""
    wanted = [Wanted(name, most, limit) for name in functions or ("grant",)]
    return list(await calls.claim("worker-1", wanted, most, lease))


async def one(calls: DurableCalls, **given: Any) -> CallRow:  # noqa: ANN401 - as above
    """Store a call and claim it."""
    await calls.submit(new(**given))
    (row,) = await claim(calls)
    return row


async def found(calls: DurableCalls, call_id: str) -> CallRow:
    """Give a call that there is."""
    row = await calls.get(call_id)
    assert row is not None
    return row


def asked(verb: CallVerb, row: CallRow | str, request: str = "q-1", etag: int | None = None) -> CallAsked:
    """Ask something of a call."""
    return CallAsked(request, verb, row if isinstance(row, str) else row.id, etag, "ann", "the carrier is back")


class DurableCallsContract:
    """The whole contract of `DurableCalls`."""

    @pytest.fixture
    def store(self) -> CallsHarness:
        """Give an empty store; every adapter has its own."""
        raise NotImplementedError

    async def test_a_call_is_kept_as_it_was_stored(self, store: CallsHarness) -> None:
        """F6: everything of it, for every process; nothing was called yet."""
        call = new(
            payload='{"v":1,"a":{"x":"é\\u0000"}}', key="k", priority=7, headers={"tenant": "t ✓"}, failure=FAILURE
        )

        stored = await store.calls.submit(replace(call, attempts=1, spent=1))

        row = await found(store.another(), call.id)
        assert (stored.id, stored.new) == (call.id, True)
        assert (row.function, row.payload, row.key, row.priority) == (call.function, call.payload, "k", 7)
        assert (row.headers, row.attempts, row.spent, row.busy) == ({"tenant": "t ✓"}, 1, 1, 0)
        assert (row.state, row.token, row.failure, row.first_cause) == (CallState.WAITING, None, FAILURE, FAILURE)
        assert row.due == pytest.approx(await store.calls.now(), abs=timedelta(seconds=5))

    async def test_storing_again_under_the_same_id_changes_nothing(self, store: CallsHarness) -> None:
        """An unknown outcome is asked again; F8: the id is the call's for good."""
        call = new()
        await store.calls.submit(call)

        assert (await store.calls.submit(replace(call, priority=0))).new is False
        assert (await found(store.calls, call.id)).priority == call.priority

    @pytest.mark.parametrize("text", ODD)
    async def test_odd_texts_are_kept(self, store: CallsHarness, text: str) -> None:
        """Keys, headers and errors are anybody's."""
        call = new(key=text, headers={"h": text}, failure=replace(FAILURE, message=text))
        await store.calls.submit(call)
        row = await found(store.calls, call.id)
        assert (row.key, row.headers, row.failure) == (text, {"h": text}, call.failure)

    @pytest.mark.parametrize("text", NOT_STORABLE)
    async def test_what_no_store_takes_is_refused_in_the_caller(self, store: CallsHarness, text: str) -> None:
        """S71: NUL and lone surrogates."""
        with pytest.raises(StoreDataError):
            await store.calls.submit(new(key=text))
        assert await claim(store.calls) == []

    async def test_a_key_dedupes_while_its_call_is_pending(self, store: CallsHarness) -> None:
        """Issue: the second answers the first one's id, waiting or running; other functions have keys of their own."""
        first, second = new(key="o-1"), new(key="o-1")
        await store.calls.submit(first)
        assert await store.calls.submit(second) == replace(await store.calls.submit(first), id=first.id)
        (row,) = await claim(store.calls)
        assert (await store.another().submit(new(key="o-1"))).id == first.id
        assert (await store.calls.submit(new("other", key="o-1"))).new

        await store.calls.finish([written(row, Succeeded("1"))])

        assert (await store.calls.submit(second)).new
        assert await store.calls.get(second.id) is not None

    async def test_twenty_at_once_under_one_key_are_one_call(self, store: CallsHarness) -> None:
        """Two submitters at the same time do not both store it."""
        other = store.another()
        stored = await asyncio.gather(*((store.calls if n % 2 else other).submit(new(key="same")) for n in range(20)))
        assert len({each.id for each in stored}) == 1
        assert sum(each.new for each in stored) == 1

    async def test_a_call_is_claimed_once_with_a_token_and_charged(self, store: CallsHarness) -> None:
        """F6: never two claims at once; the attempt counts when it begins."""
        await store.calls.submit(new())

        (row,) = await claim(store.calls)

        assert await claim(store.another()) == []
        assert (row.state, row.worker, row.attempts, row.spent) == (CallState.RUNNING, "worker-1", 1, 1)
        assert row.token
        assert await found(store.calls, row.id) == row

    async def test_a_hundred_claimers_never_share_a_call(self, store: CallsHarness) -> None:
        """F6: from two processes at once."""
        for _ in range(60):
            await store.calls.submit(new())
        other = store.another()

        claims = await asyncio.gather(*(claim(store.calls if n % 2 else other, most=5) for n in range(40)))
        claims.append(await claim(store.calls))

        ids = [row.id for rows in claims for row in rows]
        assert (len(ids), len(set(ids))) == (60, 60)

    async def test_what_is_not_due_waits(self, store: CallsHarness) -> None:
        """A delay counts by the store's clock; the wait is told."""
        await store.calls.submit(new(delay=SHORT))
        await store.calls.submit(new(delay=3_600))
        assert await claim(store.calls) == []
        wait = await store.calls.next_due(["grant", "other"])
        assert wait is not None
        assert 0 < wait <= SHORT
        assert await store.calls.next_due(["other"]) is None

        await store.pass_time(SHORT)

        assert await store.calls.next_due(["grant"]) == 0
        assert len(await claim(store.calls)) == 1

    async def test_priority_goes_first_then_who_waited_longer(self, store: CallsHarness) -> None:
        """Issue: priorities; within one the longer due."""
        for name, priority in (("low", 0), ("first", 5), ("high", 9), ("second", 5)):
            await store.calls.submit(new(payload=name, priority=priority))
            await store.pass_time(0.002)

        order = [row.payload for _ in range(4) for row in await claim(store.calls, most=1)]

        assert order == ["high", "first", "second", "low"]

    async def test_only_wanted_functions_and_as_many_as_there_is_room(self, store: CallsHarness) -> None:
        """F4: a program leaves functions it does not know to others; no more than fit are taken."""
        for name in ("a", "b", "c"):
            for _ in range(4):
                await store.calls.submit(new(name))

        rows = await store.calls.claim("w", [Wanted("a", 1), Wanted("b", 3), Wanted("x", 5)], 100, LEASE)
        assert sorted(row.function for row in rows) == ["a", "b", "b", "b"]
        assert len(await store.calls.claim("w", [Wanted("a", 9), Wanted("c", 9)], 5, LEASE)) == 5
        assert await store.calls.claim("w", [Wanted("a", 0)], 5, LEASE) == []
        assert await store.calls.claim("w", [], 5, LEASE) == []

    async def test_a_limit_holds_over_all_workers(self, store: CallsHarness) -> None:
        """Issue: a concurrency limit per function."""
        for _ in range(10):
            await store.calls.submit(new())
        other = store.another()

        claims = await asyncio.gather(*(claim(store.calls if n % 2 else other, limit=3) for n in range(6)))

        rows = [row for each in claims for row in each]
        assert len(rows) == 3
        await store.calls.finish([written(rows[0], Succeeded("1"))])
        assert len(await claim(other, limit=3)) == 1

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

    async def test_a_call_in_the_callers_transaction_exists_when_it_commits(self, store: CallsHarness) -> None:
        """F2: stored with the caller's own changes, or not at all; H39: refused where the store cannot."""
        call, never = new(), new()
        if not store.transactions:
            with pytest.raises(CallError):
                await store.calls.submit(call, connection=object())
            return
        async with store.transaction() as connection:
            assert (await store.calls.submit(call, connection=connection)).new
            assert await store.calls.get(call.id) is None
        assert [row.id for row in await claim(store.calls)] == [call.id]

        with pytest.raises(RuntimeError):  # noqa: PT012 - the block is what rolls back
            async with store.transaction() as connection:
                await store.calls.submit(never, connection=connection)
                raise RuntimeError
        assert await store.calls.get(never.id) is None

    async def test_calls_are_listed_by_id_and_counted(self, store: CallsHarness) -> None:
        """P12: a page after a page; no state selects nothing."""
        rows = [await one(store.calls) for _ in range(3)]
        await store.calls.submit(new("other", key="k"))
        await store.calls.finish([written(rows[0], Exhausted(CallReason.BUDGET_SPENT, FAILURE))])
        ids = [row.id for row in rows]

        async def listed(**given: Any) -> list[str]:  # noqa: ANN401 - fields of the filter
            return [row.id for row in await store.calls.rows(CallFilter(**{"states": ANY, **given}))]

        assert (await listed(function="grant", limit=2)) == ids[:2]
        assert (await listed(function="grant", after=ids[1])) == ids[2:]
        assert (await listed(states=frozenset({CallState.EXHAUSTED}))) == ids[:1]
        assert (await listed(fingerprint=FAILURE.fingerprint)) == ids[:1]
        assert len(await listed(key="k")) == 1
        assert await listed(states=frozenset()) == []
        assert await store.calls.counts() == {
            ("grant", CallState.EXHAUSTED): 1,
            ("grant", CallState.RUNNING): 2,
            ("other", CallState.WAITING): 1,
        }

    async def test_an_operator_retries_what_is_exhausted_with_a_fresh_budget(self, store: CallsHarness) -> None:
        """F7, P10: claimable at once, in the audit with who and why; a repeated request is answered as the first."""
        row = await one(store.calls)
        await store.calls.finish([written(row, Exhausted(CallReason.UNRECOVERABLE, FAILURE))])
        exhausted = await found(store.calls, row.id)

        action = await store.calls.ask(asked("retry", row, etag=exhausted.etag))

        assert (action.state, action.code, action.request.verb) == ("done", "done", Verb.RETRY_CALL)
        assert (action.request.actor, action.request.reason) == ("ann", "the carrier is back")
        assert (action.request.row_id, action.request.group) == (row.id, "grant")
        assert action.outcome["state"] == "waiting"
        (again,) = await claim(store.calls)
        assert (again.attempts, again.spent, again.reason) == (2, 1, None)
        assert (await store.calls.ask(asked("retry", row, etag=exhausted.etag))).id == action.id

    async def test_retry_makes_a_waiting_call_due(self, store: CallsHarness) -> None:
        """Issue: retried now."""
        call = new(delay=3_600)
        await store.calls.submit(call)
        assert (await store.calls.ask(asked("retry", call.id))).state == "done"
        assert [row.id for row in await claim(store.calls)] == [call.id]

    async def test_a_cancelled_call_is_over_also_when_it_runs(self, store: CallsHarness) -> None:
        """Issue: cancelled; the worker finds its claim lost."""
        waiting = new(delay=60)
        await store.calls.submit(waiting)
        row = await one(store.calls)

        for number, call_id in enumerate((waiting.id, row.id)):
            assert (await store.calls.ask(asked("cancel", call_id, f"q-{number}"))).state == "done"
            assert (await found(store.calls, call_id)).state is CallState.CANCELLED

        assert await store.calls.extend([(row.id, row.token or "")], LEASE) == {row.id}
        assert await store.calls.finish([written(row, Succeeded("1"))]) == {row.id}
        assert (await store.calls.ask(asked("retry", row, "q-9"))).code == "ended"

    async def test_what_does_not_fit_the_state_is_refused_and_audited(self, store: CallsHarness) -> None:
        """P10: with a stable code, and nothing is changed."""
        row = await one(store.calls)
        requests = [
            (asked("retry", row, "a"), "running"),
            (asked("discard", row, "b"), "pending"),
            (asked("cancel", row, "c", etag=row.etag - 1), "conflict"),
            (asked("cancel", "nobody", "d"), "not_found"),
        ]
        for request, code in requests:
            action = await store.calls.ask(request)
            assert (action.state, action.code) == ("refused", code)
            assert action.text
        assert await found(store.calls, row.id) == row

        await store.calls.finish([written(row, Exhausted(CallReason.BUDGET_SPENT, FAILURE))])
        assert (await store.calls.ask(asked("cancel", row, "e"))).code == "exhausted"
        assert (await store.calls.ask(asked("discard", row, "f"))).state == "done"
        assert (await found(store.calls, row.id)).state is CallState.DISCARDED
        assert (await store.calls.ask(asked("discard", row, "g"))).code == "ended"

    async def test_a_retry_does_not_make_two_pending_under_one_key(self, store: CallsHarness) -> None:
        """The key dedupes whatever way a call became pending."""
        row = await one(store.calls, key="k")
        await store.calls.finish([written(row, Exhausted(CallReason.BUDGET_SPENT, FAILURE))])
        await store.calls.submit(new(key="k"))

        assert (await store.calls.ask(asked("retry", row))).code == "key"
        assert (await found(store.calls, row.id)).state is CallState.EXHAUSTED

    async def test_twenty_operators_at_once_make_one_change(self, store: CallsHarness) -> None:
        """P10, S85: with the etag they saw, one is first and the others are told."""
        row = await one(store.calls)
        await store.calls.finish([written(row, Exhausted(CallReason.BUDGET_SPENT, FAILURE))])
        etag = (await found(store.calls, row.id)).etag
        other = store.another()

        actions = await asyncio.gather(
            *((store.calls if n % 2 else other).ask(asked("retry", row, f"r-{n}", etag)) for n in range(20))
        )

        assert sorted(action.state for action in actions) == ["done", *["refused"] * 19]

    async def test_only_finished_calls_are_forgotten(self, store: CallsHarness) -> None:
        """What is over is deleted after a while; what a person has to look at never."""
        rows = [await one(store.calls) for _ in range(3)]
        await store.calls.finish([written(rows[0], Succeeded("1")), written(rows[1], Succeeded("1"))])
        await store.calls.finish([written(rows[2], Exhausted(CallReason.BUDGET_SPENT, FAILURE))])
        assert await store.calls.forget(3_600, 10) == 0

        await store.pass_time(0.02)

        assert await store.calls.forget(0.01, 1) == 1
        assert await store.calls.forget(0.01, 10) == 1
        assert [row.id for row in await store.calls.rows(CallFilter(ANY))] == [rows[2].id]
