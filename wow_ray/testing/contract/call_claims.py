# ruff: noqa: PLR2004, S101 - assert is how a contract speaks, and its numbers are examples
"""How durable calls are stored and claimed: once, by priority, within limits, in a caller's transaction (F2, F6)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from wow_ray.errors import CallError, StoreDataError
from wow_ray.policy.durable_call import CallState
from wow_ray.policy.durable_endings import Succeeded, written
from wow_ray.ports.durable_calls import Wanted
from wow_ray.testing.contract.calling import (
    FAILURE,
    LEASE,
    SHORT,
    CallsHarness,
    CallsSuite,
    claim,
    found,
    new,
)
from wow_ray.testing.contract.refusing import NOT_STORABLE, ODD


class CallClaims(CallsSuite):
    """What is stored, and who gets it."""

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
        assert list(await store.calls.claim("w", [Wanted("a", 0)], 5, LEASE)) == []
        assert list(await store.calls.claim("w", [], 5, LEASE)) == []

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
