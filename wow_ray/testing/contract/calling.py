# ruff: noqa: S101 - assert is how a contract speaks, and its numbers are examples
"""What the suites of durable calls have in common: the harness, and the few sentences all of them use."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import count
from typing import Any, Protocol

import pytest

from wow_ray.failure import Category, Failure
from wow_ray.policy.durable_asked import CallAsked, CallVerb
from wow_ray.policy.durable_call import CallRow, CallState, NewCall
from wow_ray.ports.durable_calls import DurableCalls, Wanted
from wow_ray.ports.ledger import Ledger

FAILURE = Failure(Category.RECOVERABLE, "default", "ValueError", "naïve ✓ 'quoted'", "Traceback…", "0123456789abcdef")
OTHER = replace(FAILURE, type="KeyError", fingerprint="fedcba9876543210")
LEASE = 60.0
SHORT = 0.2
ANY = frozenset(CallState)
_numbers = count(1)


class CallsHarness(Protocol):
    """An empty store of durable calls, and the ledger beside it.

    `transactions` tells whether calls can be stored in a caller's own.
    """

    calls: DurableCalls
    transactions: bool
    ledger: Ledger

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


class CallsSuite:
    """A part of the suite. Subclass the whole where pytest collects it, and override `store`."""

    @pytest.fixture
    def store(self) -> CallsHarness:
        """Give an empty store; every adapter has its own."""
        raise NotImplementedError
