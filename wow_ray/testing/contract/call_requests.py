# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""What is asked of durable calls, and how they are looked at and forgotten (F7, P10)."""

from __future__ import annotations

import asyncio
from typing import Any

from wow_ray.policy.durable_call import CallReason, CallState
from wow_ray.policy.durable_endings import Exhausted, Succeeded, written
from wow_ray.policy.parked import Verb
from wow_ray.ports.durable_calls import CallFilter
from wow_ray.testing.contract.calling import (
    ANY,
    FAILURE,
    LEASE,
    CallsHarness,
    CallsSuite,
    asked,
    claim,
    found,
    new,
    one,
)


class CallRequests(CallsSuite):
    """Operators and callers."""

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
