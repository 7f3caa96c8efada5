"""Durable calls on Redis: Lua scripts on sorted sets, leases by the server's clock; requests are audited elsewhere.

What is acknowledged is as durable as the server's settings make it (`docs/retryable.md`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, cast

from pydantic import SecretStr
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from wow_ray.adapters.call_texts import MOST_TOGETHER, weight_of
from wow_ray.adapters.gathering import Gathering
from wow_ray.adapters.redis.call_rows import (
    call_of,
    ending_fields,
    micros,
    moment_of,
    new_fields,
    put_fields,
)
from wow_ray.adapters.redis.errors import classify_redis
from wow_ray.errors import CallError, SettingsError, StoreDataError, StoreUnavailableError
from wow_ray.policy.durable_asked import CallAsked, Changed, Refused, decide_asked
from wow_ray.policy.durable_call import FINISHED, CallRow, CallState, NewCall
from wow_ray.policy.durable_endings import Written
from wow_ray.ports.durable_calls import CallAudit, CallFilter, Stored, Wanted
from wow_ray.ports.ledger import Intent

log = logging.getLogger("wow_ray.calls")

ANSWER = 10.0
"""Seconds in which a server answers that is there."""
PAGE = 200


@cache
def script(name: str) -> tuple[str, str]:
    """Give a script, after what all have in common, and the hash it is called by."""
    from hashlib import sha1  # noqa: PLC0415 - what Redis names scripts by, and nothing of ours

    folder = files(__package__) / "lua"
    text = "\n".join((folder / f"{part}.lua").read_text(encoding="utf-8") for part in ("calls", name))
    return text, sha1(text.encode()).hexdigest()  # noqa: S324 - as above


class RedisDurableCalls:
    """`ports.durable_calls.DurableCalls` on Redis; the address, which may hold a password, is never shown."""

    def __init__(self, url: SecretStr, schema: str, context: str, audit: CallAudit) -> None:
        """Connect to nothing yet; raises `SettingsError` for an address that is none."""
        self._prefix = f"wow:{{{schema}:{context}}}:"
        self._audit = audit
        self._submits = Gathering(self._submit_all, MOST_TOGETHER, lambda each: weight_of(each[0]))
        try:
            self._redis = Redis.from_url(
                url.get_secret_value(),
                decode_responses=True,
                socket_connect_timeout=ANSWER,
                socket_timeout=ANSWER,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError:
            raise SettingsError("redis_url is no address of a Redis; write redis://:password@host:6379/0") from None

    async def submit(self, call: NewCall, *, connection: Any = None) -> Stored:  # noqa: ANN401 - as in the port
        """See the port; never in a caller's transaction, since Redis takes no part in one (H39)."""
        if connection is not None:
            raise CallError("durable calls lie in Redis, which takes no part in a transaction; leave connection= out")
        fields = new_fields(call)
        _check(fields.values(), call.headers)
        return await self._submits.one((call, json.dumps(fields)))

    async def claim(self, worker: str, wanted: Sequence[Wanted], most: int, lease: float) -> Sequence[CallRow]:
        """See the port."""
        asked: list[str] = []
        for one in wanted:
            if one.room > 0:
                asked += [one.function, str(one.room), str(-1 if one.limit is None else one.limit)]
        if not asked:
            return ()
        rows = await self._run("claim", worker, micros(lease), str(most), secrets.token_hex(8), *asked)
        return tuple(map(call_of, json.loads(rows)))

    async def extend(self, claims: Sequence[tuple[str, str]], lease: float) -> frozenset[str]:
        """See the port."""
        pairs = [text for claim in claims for text in claim]
        return frozenset(await self._run("extend", micros(lease), *pairs))

    async def finish(self, endings: Sequence[Written]) -> frozenset[str]:
        """See the port."""
        if not endings:
            return frozenset()
        for ending in endings:
            _check((ending.note, ending.result or ""), {})
        etags = await self._run("finish", *(json.dumps(ending_fields(ending)) for ending in endings))
        ended = [(ending, etag) for ending, etag in zip(endings, etags, strict=True) if etag]
        over = [(ending.id, int(etag)) for ending, etag in ended if ending.state is CallState.EXHAUSTED]
        if over:
            await self._tell(over)
        return frozenset(ending.id for ending in endings) - {ending.id for ending, _ in ended}

    async def next_due(self, functions: Sequence[str]) -> float | None:
        """See the port."""
        wait = int(await self._run("next_due", *functions))
        return None if wait < 0 else wait / 1_000_000

    async def get(self, call_id: str) -> CallRow | None:
        """See the port."""
        fields = await _asked(cast("Awaitable[dict[str, str]]", self._redis.hgetall(f"{self._prefix}call:{call_id}")))
        return call_of(fields) if fields else None

    async def rows(self, wanted: CallFilter) -> Sequence[CallRow]:
        """See the port; filters are applied here, a page of ids at a time."""
        found: list[CallRow] = []
        after = wanted.after
        while len(found) < wanted.limit:
            ids = await self._ids(wanted.states, after)
            found += [row for row in await self._rows(ids) if _passes(row, wanted)]
            if len(ids) < PAGE:
                break
            after = ids[-1]
        return found[: wanted.limit]

    async def counts(self) -> Mapping[tuple[str, CallState], int]:
        """See the port."""
        counted = await _asked(cast("Awaitable[dict[str, str]]", self._redis.hgetall(f"{self._prefix}counts")))
        found: dict[tuple[str, CallState], int] = {}
        for name, count in counted.items():
            state, _, function = name.partition(" ")
            if CallState(state) not in FINISHED and int(count) > 0:
                found[function, CallState(state)] = int(count)
        return found

    async def ask(self, asked: CallAsked) -> Intent:
        """See the port: first the change, which names the request, then the audit; a repetition finds either."""
        _check((asked.request_id, asked.actor, asked.reason), {})
        while True:
            known = await self._audit.known(asked.request_id)
            if known is not None:
                return known
            row = await self.get(asked.id)
            if row is not None and row.request_id == asked.request_id:  # done, but for the audit
                return await self._audit.acted(asked, row.function, Changed(row))
            decided = decide_asked(row, asked, await self.now())
            if isinstance(decided, Changed) and row is not None:
                put = await self._run("put", row.id, str(row.etag), json.dumps(put_fields(decided.row)))
                if put == "changed":
                    continue
                if put == "key":
                    decided = Refused("key", "another call is pending under the same key")
            return await self._audit.acted(asked, "" if row is None else row.function, decided)

    async def forget(self, older_than: float, most: int) -> int:
        """See the port."""
        return int(await self._run("forget", micros(older_than), str(most)))

    async def now(self) -> datetime:
        """See the port."""
        seconds, microseconds = await _asked(self._redis.time())
        return moment_of(str(int(seconds) * 1_000_000 + int(microseconds)))

    async def close(self) -> None:
        """End the connections."""
        await self._submits.close()
        await self._redis.aclose()

    async def _tell(self, exhausted: Sequence[tuple[str, int]]) -> None:
        """Have people told; the calls have ended whether or not that is possible now, and are listed anyway."""
        try:
            await self._audit.exhausted(exhausted)
        except StoreUnavailableError as error:
            log.warning("nobody is told that %d calls are exhausted (%s)", len(exhausted), error)

    async def _submit_all(self, calls: Sequence[tuple[NewCall, str]]) -> Sequence[Stored]:
        """Store calls, given with their fields as JSON, in one script."""
        asked = [text for call, fields in calls for text in (fields, micros(call.delay))]
        answer = await self._run("submit", *asked)
        return [Stored(call_id, bool(new)) for call_id, new in zip(answer[::2], answer[1::2], strict=True)]

    async def _rows(self, ids: Sequence[str]) -> list[CallRow]:
        """Give the calls that there still are, in one go."""
        pipeline = self._redis.pipeline(transaction=False)
        for call_id in ids:
            pipeline.hgetall(f"{self._prefix}call:{call_id}")
        return [call_of(fields) for fields in await _asked(pipeline.execute()) if fields]

    async def _ids(self, states: frozenset[CallState], after: str | None) -> list[str]:
        """Give the first ids of these states after one, in order."""
        first = "-" if after is None else f"({after}"
        ids: list[str] = []
        for state in states:
            key = f"{self._prefix}state:{state.value}"
            ids += await _asked(self._redis.zrangebylex(key, first, "+", start=0, num=PAGE))
        return sorted(ids)[:PAGE]

    async def _run(self, name: str, *args: str) -> Any:  # noqa: ANN401 - what the script answers
        """Run a script; a server that has been started anew is told it again."""
        text, mark = script(name)
        try:
            return await _asked(self._redis.evalsha(mark, 1, self._prefix, *args))
        except NoScriptError:
            return await _asked(self._redis.eval(text, 1, self._prefix, *args))


async def _asked(answer: Awaitable[Any]) -> Any:  # noqa: ANN401 - what the server answers
    """Wait for an answer; raises `StoreUnavailableError` for whatever another try may get past."""
    try:
        answered = await answer
    except NoScriptError:
        raise
    except (RedisError, OSError) as error:
        _cancelled(error)
        if isinstance(error, (OSError, RedisTimeoutError)) or classify_redis(error, "") is not None:
            raise StoreUnavailableError(
                f"Redis cannot be reached or gave no answer: {type(error).__name__}: {error}"
            ) from error
        raise
    _cancelled(None)
    return answered


def _cancelled(error: BaseException | None) -> None:
    """Raise the cancellation that the client swallowed: seen with a task cancelled while it waited for an answer."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error


def _check(texts: Any, headers: Mapping[str, str]) -> None:  # noqa: ANN401 - texts of any collection
    """Refuse what Postgres would refuse, too: what is stored does not depend on where."""
    for text in (*texts, *headers, *headers.values()):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise StoreDataError(f"a text holds a lone surrogate and cannot be stored: {text!r:.100}") from error
        if "\x00" in text:
            raise StoreDataError(f"a text holds a NUL and cannot be stored: {text!r:.100}")


def _passes(row: CallRow, wanted: CallFilter) -> bool:
    asked = (
        (wanted.function, row.function),
        (wanted.key, row.key),
        (wanted.fingerprint, None if row.failure is None else row.failure.fingerprint),
    )
    return row.state in wanted.states and all(value is None or value == has for value, has in asked)
