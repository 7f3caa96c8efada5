"""Where durable calls lie, and how workers get them (F6, H39). The proof is `DurableCallsContract`.

All times are by the store's clock. A call is claimed by one worker at a time, under a token and a lease; nothing is
written of a claimed call but under its token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from wow_ray.policy.durable_asked import CallAsked, Changed, Refused
from wow_ray.policy.durable_call import CallRow, CallState, NewCall
from wow_ray.policy.durable_endings import Written
from wow_ray.policy.parked import Verb
from wow_ray.ports.ledger import Intent, NewIntent

NOTICE_OF = "call/"
"""How the outbox of notices names what a fact is about, where that is a call: this, then its id."""

VERBS = {"retry": Verb.RETRY_CALL, "cancel": Verb.CANCEL_CALL, "discard": Verb.DISCARD_CALL}
"""How what was asked is called in the audit."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A call that is stored under `id`; not `new` = that of an earlier one with the same id, or the same key."""

    id: str
    new: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a worker can run: the function's name, with room for so many more calls here.

    `limit` is how many may run at once in all workers together; `None` = any number.
    """

    function: str
    room: int
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which calls to list; `None` = any. No state = no call (P12). By id, those after `after`."""

    states: frozenset[CallState]
    function: str | None = None
    fingerprint: str | None = None
    key: str | None = None
    after: str | None = None
    limit: int = 100


def intent_of_call(asked: CallAsked, function: str) -> NewIntent:
    """Give a request on a call as the action that stands in the audit."""
    return NewIntent(
        asked.request_id,
        VERBS[asked.verb],
        function,
        0,
        "call",
        asked.id,
        asked.id,
        asked.etag,
        None,
        asked.actor,
        asked.reason,
    )


def outcome_of_call(row: CallRow) -> dict[str, Any]:
    """Give the outcome of a request as every adapter stores it: the state and the etag it led to."""
    return {"state": row.state.value, "etag": row.etag}


class CallAudit(Protocol):
    """Where requests on calls are kept for ever, and the outbox, for a store of calls that has neither itself."""

    async def known(self, request_id: str) -> Intent | None:
        """Give what is stored under a request, `None` = nothing."""
        ...

    async def acted(self, asked: CallAsked, function: str, decided: Changed | Refused) -> Intent:
        """Store a request with what came of it, unless something is stored under it; answers what is."""
        ...

    async def exhausted(self, calls: Sequence[tuple[str, int]]) -> None:
        """Put into the outbox that these calls, by id and etag, wait for a person; once each."""
        ...


class DurableCalls(Protocol):
    """Durable calls of one context. Raises `StoreUnavailableError`, after which what was asked may be asked again."""

    async def submit(self, call: NewCall, *, connection: Any = None) -> Stored:  # noqa: ANN401 - the driver's own
        """Store a call; the same id again changes nothing. With a key, one that is pending under it stands for both.

        With `connection` it is stored in the transaction that is open there, and does not exist before that commits
        (Postgres only: raises `CallError` where the store cannot). Raises `StoreDataError` for what cannot be stored.
        """
        ...

    async def claim(self, worker: str, wanted: Sequence[Wanted], most: int, lease: float) -> Sequence[CallRow]:
        """Claim at most `most` calls that are claimable, as rows with a token each (`policy.durable_call.claimed`).

        The higher priority first, then the longer due; those whose lease has run out count as due since then. No call
        is ever in two claims at once. `lease` is in seconds.
        """
        ...

    async def extend(self, claims: Sequence[tuple[str, str]], lease: float) -> frozenset[str]:
        """Begin the lease of these claims (id, token) anew; answers the ids of those that are lost."""
        ...

    async def finish(self, endings: Sequence[Written]) -> frozenset[str]:
        """Write how claims end, each where its token is still the row's; answers the ids of those that were lost.

        All or nothing on an error; repeated after an unknown outcome it changes nothing, and calls them lost. That a
        call is exhausted is put into the outbox of notices, with kind `exhausted` (P13's kin).
        """
        ...

    async def next_due(self, functions: Sequence[str]) -> float | None:
        """Give the seconds until a call of these functions can be claimed, 0 = at once; `None` = none is pending."""
        ...

    async def get(self, call_id: str) -> CallRow | None:
        """Give a call; `None` = there is none, or it was over and is deleted."""
        ...

    async def rows(self, wanted: CallFilter) -> Sequence[CallRow]:
        """List calls by id, keyset-paged."""
        ...

    async def counts(self) -> Mapping[tuple[str, CallState], int]:
        """Count the calls that are not finished, by function and state."""
        ...

    async def ask(self, asked: CallAsked) -> Intent:
        """Carry out a request on a call (`policy.durable_asked`), and store it with its outcome in the audit.

        A repeated `request_id` changes nothing and answers what is stored under it. A refusal is answered as one.
        """
        ...

    async def forget(self, older_than: float, most: int) -> int:
        """Delete at most `most` finished calls that ended more than so many seconds ago; answers how many."""
        ...

    async def now(self) -> datetime:
        """Give the store's time."""
        ...
