"""A worker of durable calls that dies at the n-th place where it could: before or after the store has answered."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from wow_ray import App, Durable, current_call
from wow_ray.policy.durable_call import PENDING, CallRow, CallState, Fallback, NewCall, claimable_at
from wow_ray.ports.clock import Clock
from wow_ray.ports.durable_calls import DurableCalls
from wow_ray.retryable.durable_function import DurableFunction
from wow_ray.runtime.durable_calls import CallPace, CallWorker
from wow_ray.runtime.verdicts import Verdicts
from wow_ray.settings import Settings

app = App("dying")


class Mortal:
    """Stops whoever passes the n-th place, for ever; 0 = nobody."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.dead = asyncio.Event()

    async def place(self) -> None:
        """Pass, or stop here."""
        self.left -= 1
        if self.left == 0 or self.dead.is_set():
            self.dead.set()
            await asyncio.get_running_loop().create_future()


class Seen:
    """What the function did, over all workers, by call."""

    def __init__(self) -> None:
        self.mortal = Mortal(0)
        self.begun: dict[str, list[int]] = defaultdict(list)
        self.done: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()


seen = Seen()


async def last_stop(error: Exception, amount: Decimal) -> None:  # noqa: ARG001 - the form of a fallback
    """Be the fallback."""
    seen.fallbacks[current_call().id] += 1
    await seen.mortal.place()


@app.retryable(durable=Durable(max_retries=3, initial_delay="0s"), fallback=last_stop, raise_error=True)
async def work(amount: Decimal) -> Decimal:
    """Fail the first two times; for less than nothing always."""
    call = current_call()
    await seen.mortal.place()
    seen.begun[call.id].append(call.attempt)
    if amount < 0 or len(seen.begun[call.id]) < 3:
        raise ValueError(amount)
    await seen.mortal.place()
    seen.done[call.id] += 1
    return amount


class Through:
    """A store that is asked through places where the asker may die."""

    def __init__(self, calls: DurableCalls, mortal: Mortal) -> None:
        self._calls = calls
        self._mortal = mortal

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._calls, name)

        async def asked(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the port takes
            await self._mortal.place()
            answer = await method(*args, **kwargs)
            await self._mortal.place()
            return answer

        return asked


def worker_on(calls: DurableCalls, clock: Clock, lease: float) -> CallWorker:
    """Make a worker of the one function."""
    through: Any = Through(calls, seen.mortal)
    verdicts = Verdicts((), (), lambda _: False, clock)
    functions = app.resolved(Settings()).functions

    async def nobody(_: type[object]) -> object:
        raise AssertionError

    pace = CallPace(lease=lease, poll=lease / 4, drain_bound=0.0)
    return CallWorker("w", functions, through, nobody, clock=clock, dice=lambda: 0.5, verdicts=verdicts, pace=pace)


async def kill() -> None:
    """End it as kill -9 would: nothing more is said to anybody."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task() and _is_of(task)]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _is_of(task: asyncio.Task[Any]) -> bool:
    coroutine = task.get_coro()
    names = ("CallWorker.", "CallEnds.", "_awaited")
    return any(name in getattr(coroutine, "__qualname__", "") for name in names)


async def die_at(  # noqa: PLR0917 - where, on what, and how long things take there
    place: int,
    calls: DurableCalls,
    clock: Clock,
    lease: float,
    wait: Callable[[Callable[[], Any]], Any],
    amounts: Sequence[Decimal],
) -> bool:
    """Let a worker of several calls die at a place, look at the rows, let another finish; `False` = no such place."""
    global seen  # noqa: PLW0603 - one world a run
    seen = Seen()
    wanted = {f"c-{place:04}-{number}": amount for number, amount in enumerate(amounts)}
    function: DurableFunction[..., Any, Any] = work
    for call_id, amount in wanted.items():
        await calls.submit(NewCall(call_id, "work", function.arguments.write((amount,), {})))

    async def rows() -> list[CallRow]:
        found = [await calls.get(call_id) for call_id in wanted]
        return [row for row in found if row is not None]

    async def over() -> bool:
        return all(row.state not in PENDING for row in await rows())

    seen.mortal = Mortal(place)
    first = worker_on(calls, clock, lease)
    await first.start()

    async def dead_or_over() -> bool:
        return seen.mortal.dead.is_set() or await over()

    await wait(dead_or_over)
    died = seen.mortal.dead.is_set()
    await kill()
    for row in await rows():
        assert (claimable_at(row) is not None) == (row.state in PENDING)

    seen.mortal = Mortal(0)
    second = worker_on(calls, clock, lease)
    await second.start()
    await wait(over)
    await kill()
    found = await rows()
    assert len(found) == len(wanted)
    for row in found:
        check(row, wanted[row.id], died=died)
    return died


def check(row: CallRow, amount: Decimal, *, died: bool) -> None:
    """Look at what became of a call: no attempt is counted twice, and at most one has no begin that was seen."""
    begun, fallbacks = seen.begun[row.id], seen.fallbacks[row.id]
    assert len(begun) <= row.attempts <= len(begun) + died, (row.id, begun, row.attempts)
    assert sorted(set(begun)) == sorted(begun), "an attempt was counted twice"
    if amount < 0:
        assert row.state is CallState.EXHAUSTED
        assert row.fallback is Fallback.DONE
        assert row.attempts <= 4
        assert 1 <= fallbacks <= 1 + died
    else:
        assert row.state is CallState.SUCCEEDED
        assert 1 <= seen.done[row.id] <= 1 + died
