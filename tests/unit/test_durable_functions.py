"""Durable functions in a whole app, in virtual time: stored, tried later, given up, retried by a person (F2 to F8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest

from wow_ray import (
    App,
    CallFailedError,
    CallState,
    CannotTravelError,
    Category,
    CommandBusyError,
    DefinitionError,
    Durable,
    NotConnectedError,
    SettingsError,
    UnrecoverableHandlingError,
    WaitTimeoutError,
    current_call,
    recover,
)
from wow_ray.policy.durable_call import CallReason, Fallback, NewCall
from wow_ray.testing import Running, Scenario

app = App("calls")


class World:
    """What the functions do and how they fail; errors are raised one after the other, then no more."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.always: BaseException | None = None
        self.calls: list[tuple[float, int, str]] = []
        self.arguments: list[Any] = []
        self.fallbacks: list[tuple[str, Any]] = []
        self.fallback_errors: list[BaseException] = []
        self.running: Running | None = None
        self.dead: int | None = None

    def now(self) -> float:
        """Give the virtual seconds since the start, to the millisecond."""
        return round(self.running.clock.monotonic() - self.started, 3) if self.running else 0.0

    def begin(self, running: Running) -> None:
        """Count time from here."""
        self.running, self.started = running, running.clock.monotonic()

    def work(self, *arguments: Any) -> None:  # noqa: ANN401 - whatever was passed
        """Note the call, and fail as told."""
        call = current_call()
        self.calls.append((self.now(), call.attempt, call.id))
        self.arguments.append(arguments)
        if self.errors:
            raise self.errors.pop(0)
        if self.dead is not None and arguments[0] == self.dead:
            raise TimeoutError("carrier")
        if self.always is not None:
            raise self.always

    @property
    def times(self) -> list[float]:
        """When it was called."""
        return [at for at, _, _ in self.calls]


world = World()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    world.__init__()  # type: ignore[misc]


@app.retryable(durable=True)
async def grant(user: int, points: Decimal) -> int:
    """Be retried as by default."""
    world.work(user, points)
    return user


async def tell_team(error: Exception, order_id: str) -> None:
    """Be the last stop."""
    world.fallbacks.append((type(error).__name__, order_id))
    if world.fallback_errors:
        raise world.fallback_errors.pop(0)


@app.retryable(
    durable=Durable(max_retries=3, initial_delay="1s", max_delay="10m", multiplier=3),
    fallback=tell_team,
    raise_error=True,
    exclude=[KeyError],
    max_attempts=2,
)
async def roll_back(order_id: str) -> None:
    """Be retried with more and more time between."""
    world.work(order_id)


@app.retryable(durable=Durable(max_retries=0), fallback=tell_team)
async def never_stored(order_id: str) -> None:
    """Have no stored calls."""
    world.work(order_id)


@app.retryable(durable=Durable(timeout="5s", max_retries=1), concurrency=2)
async def slow(n: int) -> float:
    """Take time."""
    world.work(n)
    assert world.running is not None
    await world.running.clock.sleep(n)
    return float(n)


@app.retryable(durable=True, default="unknown")
def plain(n: int) -> str:
    """Be a plain function."""
    world.work(n)
    return str(n)


@app.retryable(durable=Durable(max_retries=5, initial_delay="10s"))
async def odd(n: int) -> None:
    """Fail for odd numbers, always."""
    world.work(n)
    if n % 2:
        raise ValueError(n)


@dataclass
class Stock:
    """A class with durable methods; its instance is a resource."""

    place: str

    @app.retryable(durable=Durable(max_retries=1), raise_error=True)
    async def put_back(self, sku: str) -> str:
        """Be called on the resource."""
        world.work(self.place, sku)
        return f"{self.place} {sku}"

    @recover
    async def not_put_back(self, error: LookupError, sku: str) -> str:  # noqa: ARG002 - the form of it
        """Be the last stop of the method."""
        world.fallbacks.append((self.place, sku))
        return ""

    @app.retryable(durable=True, raise_error=True)
    @classmethod
    async def count(cls, n: int) -> str:
        """Be called on the class."""
        return f"{cls.__name__} {n}"


@app.provide
async def stock() -> AsyncIterator[Stock]:
    """Open the resource."""
    yield Stock("shelf")


@app.classifier
def carrier(error: BaseException, subscription: str) -> Category | None:
    """Know one kind of error as an outage."""
    return Category.SYSTEMIC if isinstance(error, TimeoutError) and subscription == "grant" else None


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    """Run the app in virtual time."""
    async with Scenario(app) as running:
        world.begin(running)
        yield running


async def test_what_fails_in_the_caller_is_stored_and_called_five_more_times(running: Running) -> None:
    """F2, S44: by default one call at once and five retries 5 s apart; the caller gets 0; attempts count 1 to 6."""
    world.always = ValueError("no")

    assert await grant(7, Decimal("0.10")) == 0
    await running.advance("1h")

    assert world.times == [0, 5, 10, 15, 20, 25]
    assert [attempt for _, attempt, _ in world.calls] == [1, 2, 3, 4, 5, 6]
    assert len({call_id for _, _, call_id in world.calls}) == 1
    assert {(user, str(points)) for user, points in world.arguments} == {(7, "0.10")}
    (row,) = await running.calls()
    assert (row.state, row.reason, row.attempts) == (CallState.EXHAUSTED, CallReason.BUDGET_SPENT, 6)
    assert row.id == world.calls[0][2]
    assert row.failure is not None
    assert row.failure.message == "no"


async def test_a_success_ends_it_and_is_nobodys_affair(running: Running) -> None:
    """F2: stored once, called until it succeeds; what succeeded in the caller is never stored."""
    assert await grant(7, Decimal(1)) == 7
    assert not await running.calls()
    world.errors = [ValueError()]

    assert await grant(8, Decimal(1)) == 0
    await running.advance("1h")

    assert world.times == [0, 0, 5]
    (row,) = await running.calls()
    assert (row.state, row.result) == (CallState.SUCCEEDED, "8")


async def test_local_calls_then_growing_waits_then_the_fallback(running: Running) -> None:
    """F2, F7: `max_attempts` at once, then 1, 3, 9 s; the fallback once; the caller gets the error, which is stored."""
    world.always = ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await roll_back("o-1")
    assert len(await running.calls(CallState.WAITING)) == 1
    await running.advance("1h")

    assert world.times == [0, 0, 1, 4, 13]
    assert [attempt for _, attempt, _ in world.calls] == [1, 2, 3, 4, 5]
    assert world.fallbacks == [("ValueError", "o-1")]
    (row,) = await running.calls()
    assert (row.state, row.fallback, row.fallback_failure) == (CallState.EXHAUSTED, Fallback.DONE, None)


async def test_a_fallback_that_fails_is_not_called_again_and_both_errors_are_kept(running: Running) -> None:
    """F7, S100: one call of the fallback, no new row, both errors in the ledger."""
    world.always, world.fallback_errors = ValueError("no"), [KeyError("neither")]

    await roll_back.submit("o-1")
    await running.advance("1h")

    assert len(world.calls) == 4
    assert len(world.fallbacks) == 1
    (row,) = await running.calls()
    assert (row.state, row.fallback) == (CallState.EXHAUSTED, Fallback.FAILED)
    assert (row.failure and row.failure.type, row.fallback_failure and row.fallback_failure.type) == (
        "ValueError",
        "KeyError",
    )


async def test_an_excluded_error_propagates_and_is_never_called_exhausted(running: Running) -> None:
    """F1, S100: in the caller it goes out as it is and nothing is stored; in a worker it stops at once, no fallback."""
    world.errors = [KeyError("mine")]
    with pytest.raises(KeyError, match="mine"):
        await roll_back("o-1")
    assert not await running.calls()

    for error in (KeyError("mine"), UnrecoverableHandlingError("never")):
        world.errors = [error]
        await roll_back.submit("o-2")
        await running.advance("1h")

    assert len(world.calls) == 3
    assert not world.fallbacks
    assert [row.reason for row in await running.calls()] == [CallReason.UNRECOVERABLE] * 2


async def test_without_retries_there_is_no_row(running: Running) -> None:
    """S44: no stored calls means the call, then the fallback, in the caller."""
    world.always = ValueError()
    await never_stored("o-1")
    assert (len(world.calls), world.fallbacks) == (1, [("ValueError", "o-1")])
    assert not await running.calls()


async def test_submit_answers_a_handle_on_state_and_result(running: Running) -> None:
    """F2, F8: stored at once, run in the background; its id is that of every attempt."""
    world.errors = [ValueError()]

    call = await grant.submit(7, Decimal(1))
    assert await call.state() is CallState.WAITING
    await running.advance("1s")
    assert (await call.state(), world.times) == (CallState.WAITING, [0])
    with pytest.raises(WaitTimeoutError):
        await call.result("10ms")
    await running.advance("5s")

    assert await call.result("1s") == 7
    assert [call_id for _, _, call_id in world.calls] == [call.id, call.id]
    assert await grant.handle(call.id).result() == 7


async def test_a_failed_call_says_so_to_who_waits(running: Running) -> None:
    """The error names what happened; cancelling and retrying go through the handle."""
    world.errors = [UnrecoverableHandlingError("never")]
    call = await grant.submit(1, Decimal(1))
    await running.advance("0s")
    with pytest.raises(CallFailedError, match=r"exhausted: unrecoverable .*never"):
        await call.result()
    assert await call.retry_now()
    await running.advance("0s")
    assert await call.result() == 1

    later = await grant.options(delay="1h").submit(2, Decimal(1))
    assert await later.cancel()
    await running.advance("2h")
    assert not await later.cancel()
    with pytest.raises(CallFailedError, match="cancelled"):
        await later.result()
    assert len(world.calls) == 2


async def test_identity_and_delay_survive_the_retry(running: Running) -> None:
    """S102: submitted with a delay of an hour, failing twice: the second call comes 5 s after the first, one id."""
    world.errors = [ValueError(), ValueError()]
    call = await grant.options(delay="1h", priority=9, headers={"tenant": "t"}).submit(1, Decimal(1))

    await running.advance("2h")

    assert world.times == [3600, 3605, 3610]
    assert [(attempt, call_id) for _, attempt, call_id in world.calls] == [(n, call.id) for n in (1, 2, 3)]
    (row,) = await running.calls()
    assert (row.priority, row.headers) == (9, {"tenant": "t"})


async def test_a_key_dedupes_while_pending(running: Running) -> None:
    """Issue: two submits under one key are one call; once it is over, another may follow."""
    first = await grant.options(key="o-1").submit(1, Decimal(1))
    second = await grant.options(key="o-1").submit(2, Decimal(1))
    assert (second.id, first.new, second.new) == (first.id, True, False)
    await running.advance("0s")
    assert (await grant.options(key="o-1").submit(3, Decimal(1))).new


async def test_an_outage_pauses_the_queue_and_costs_nothing(running: Running) -> None:
    """Issue, D3: systemic by a classifier: nothing is charged however long; one probe at a time; then all go on."""
    world.always = TimeoutError("carrier")
    for n in range(20):
        await grant.submit(n, Decimal(1))
    await running.advance("10m")
    during = len(world.calls)
    assert during < 20 + 10 * 60 / 2
    rows = await running.calls(CallState.WAITING)
    assert {(row.attempts, row.spent) for row in rows} == {(0, 0)}
    assert len(rows) == 20

    world.always = None
    await running.advance("20s")

    assert len(await running.calls(CallState.SUCCEEDED)) == 20
    assert {attempt for _, attempt, _ in world.calls[during:]} == {1}


async def test_one_dead_tenant_pauses_nobody(running: Running) -> None:
    """W5: systemic by class while others succeed is the call's own trouble, and it is exhausted like any other."""
    world.dead = 13
    for n in (13, *range(10)):
        await grant.submit(n, Decimal(1))
        await running.advance("100ms")
    await running.advance("1h")

    rows = {row.state: 0 for row in await running.calls()}
    for row in await running.calls():
        rows[row.state] += 1
    assert rows == {CallState.SUCCEEDED: 10, CallState.EXHAUSTED: 1}
    (dead,) = await running.calls(CallState.EXHAUSTED)
    assert dead.failure is not None
    assert dead.failure.source == "systemic by class, but others succeed"
    assert dead.attempts == 6


async def test_busy_answers_have_a_budget_of_their_own(running: Running) -> None:
    """D4, D5: backpressure slows down and spends no retry."""
    world.errors = [CommandBusyError("busy")] * 8
    await grant.submit(1, Decimal(1))

    await running.advance("10m")

    (row,) = await running.calls()
    assert (row.state, row.busy, row.spent) == (CallState.SUCCEEDED, 8, 1)
    assert len(world.calls) == 9


async def test_a_timeout_is_a_failed_attempt(running: Running) -> None:
    """B4: cancelled, charged, tried again; the concurrency limit of two holds meanwhile."""
    for n in (60, 60, 1, 1):
        await slow.submit(n)
    await running.advance("500ms")
    assert len(world.calls) == 2
    await running.advance("1m")

    rows = {row.id: row for row in await running.calls()}
    assert sorted(row.state.value for row in rows.values()) == ["exhausted", "exhausted", "succeeded", "succeeded"]
    failed = [row for row in rows.values() if row.state is CallState.EXHAUSTED]
    assert {row.failure.type for row in failed if row.failure} == {"TimeoutError"}
    assert {row.attempts for row in failed} == {2}


async def test_a_plain_function_stores_from_a_thread_and_is_run_on_one(running: Running) -> None:
    """F2: in the loop's own thread it would stop what it waits for, and says so before anything is called."""
    world.errors = [ValueError()]
    with pytest.raises(NotConnectedError, match=r"await asyncio\.to_thread"):
        plain(1)
    assert not world.calls

    assert await asyncio.to_thread(plain, 3) == "unknown"
    await running.advance("5s")

    (row,) = await running.calls()
    assert (row.state, row.result) == (CallState.SUCCEEDED, '"3"')


async def test_methods_are_called_on_the_apps_resource(running: Running) -> None:
    """Issue: the caller's instance does not travel; a `@recover` method is the last stop of its method."""
    world.errors = [LookupError(), LookupError()]
    handle = await Stock("caller's").put_back.submit("sku")
    await running.advance("1m")
    assert world.arguments == [("shelf", "sku"), ("shelf", "sku")]
    assert world.fallbacks == [("shelf", "sku")]
    assert await handle.state() is CallState.EXHAUSTED

    members: Any = Stock  # a checker sees a class method below a decorator as a plain one
    of_class = await members.count.submit(3)
    await running.advance("0s")
    assert await of_class.result() == "Stock 3"


async def test_concurrent_calls_count_for_themselves(running: Running) -> None:
    """F5, S99: a hundred at once; odd ones get six calls each, even ones one."""
    for n in range(100):
        await odd.submit(n)

    await running.advance("1h")

    counted = [len([each for (each,) in world.arguments if each == n]) for n in range(100)]
    assert counted == [6 if n % 2 else 1 for n in range(100)]
    assert all(attempt <= 6 for _, attempt, _ in world.calls)


async def test_arguments_are_captured_before_the_first_call_and_refused_by_name(running: Running) -> None:
    """F3: what cannot travel is refused in the caller, before anything is called."""
    with pytest.raises(CannotTravelError, match="grant: 'user'"):
        await grant("seven", Decimal(1))  # type: ignore[arg-type]
    with pytest.raises(CannotTravelError, match="grant: 'points'"):
        await grant.submit(1, 0.5)  # type: ignore[arg-type]
    assert not world.calls
    assert not await running.calls()


async def test_a_deploy_costs_nothing() -> None:
    """B4, S48: what a stop interrupts goes back uncharged; the next process calls it as the same attempt."""
    async with Scenario(app) as first:
        world.begin(first)
        call = await slow.submit(4)
        await first.advance("1s")
        assert [row.state for row in await first.calls()] == [CallState.RUNNING]
        assert first.service.call_worker is not None
        first.service.call_worker.pace = replace(first.service.call_worker.pace, drain_bound=0.0)
    async with Scenario(app, memory=first.memory, clock=first.clock) as second:
        world.begin(second)
        (row,) = await second.calls()
        assert (row.state, row.note) == (CallState.RUNNING, "its worker stopped")
        assert row.attempts == 1
        await second.advance("10s")
        assert await call_of(second, call.id) == "4.0"
    assert [attempt for _, attempt, _ in world.calls] == [1, 1]


async def call_of(running: Running, call_id: str) -> str | None:
    """Give a call's result as it is stored."""
    return next(row.result for row in await running.calls() if row.id == call_id)


async def test_a_call_of_nobody_is_left_alone(running: Running) -> None:
    """F4: a function this program does not know is left to others."""
    await running.service.client.calls.submit(NewCall("c", "gone", '{"v":1,"a":{}}'))
    await running.advance("1h")
    (row,) = await running.calls()
    assert (row.state, row.attempts) == (CallState.WAITING, 0)


async def test_a_call_that_no_longer_fits_burns_no_retries(running: Running) -> None:
    """F4, S95: what is surely older waits for a person at once; what may be newer is left to others for an hour."""
    calls = running.service.client.calls
    await calls.submit(NewCall("a", "grant", '{"v":1,"a":{"user":1}}'))
    await calls.submit(NewCall("b", "grant", '{"v":1,"a":{"user":1,"points":"1","tenant":"t"}}'))
    await running.advance("30m")
    older, newer = await running.calls()
    assert (older.state, older.reason, older.note) == (CallState.EXHAUSTED, CallReason.UNFIT, "cannot bind: points")
    assert (older.attempts, newer.attempts, newer.spent) == (0, 0, 0)
    assert (newer.state, newer.note) == (CallState.WAITING, "cannot bind: there is no parameter tenant")

    await running.advance("1h")

    (_, newer) = await running.calls()
    assert (newer.state, newer.reason) == (CallState.EXHAUSTED, CallReason.UNFIT)
    assert not world.calls


async def test_where_the_app_is_not_connected_nothing_is_called() -> None:
    """F2: `NotConnectedError` names `app.connect()`."""
    with pytest.raises(NotConnectedError, match=r"async with app.connect\(\)"):
        await grant(1, Decimal(1))
    with pytest.raises(NotConnectedError):
        await grant.submit(1, Decimal(1))
    assert not world.calls


async def test_the_host_says_more_or_less_of_one_function() -> None:
    """C1, S79: in place of the declaration, by name; the others stay as they are declared."""
    host = {"functions": {"odd": {"max_retries": 2, "initial_delay": "20s", "timeout": "3s"}}}
    async with Scenario(app, settings=host) as running:
        world.begin(running)
        await odd.submit(1)
        await running.advance("10m")
        assert world.times == [0, 20, 40]
        (row,) = await running.calls(CallState.EXHAUSTED)
        assert row.reason is CallReason.BUDGET_SPENT


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"od": {"max_retries": 2}}, "did you mean 'odd'"),
        ({"odd": {"max_retries": 0}}, "functions.odd.max_retries"),
        ({"odd": {"retries": 2}}, "is no setting; did you mean"),
        ({"odd": {"initial_delay": "20s", "max_delay": "10s"}}, "initial_delay (20s) is above max_delay (10s)"),
        ({"odd": {"max_delay": "400d"}}, "at most 366 days"),
        ({"odd": {"timeout": 5}}, "timeout"),
        ({"odd": 5}, "it is a section"),
        (5, "a section of names"),
    ],
)
def test_what_the_host_cannot_mean_is_refused_at_start(given: Any, text: str) -> None:  # noqa: ANN401 - as somebody might write it
    """C4, S79: with the setting's name."""
    with pytest.raises(SettingsError) as refused:
        Scenario(app, settings={"functions": given})
    assert text in refused.value.message


async def test_a_budget_lowered_meanwhile_is_spent_and_not_said_to_have_crashed() -> None:
    """C1: four calls were made under the declaration; the host now gives three."""
    async with Scenario(app) as running:
        world.begin(running)
        await odd.submit(1)
        await running.advance("35s")
        assert len(world.calls) == 4
    host = {"functions": {"odd": {"max_retries": 2}}}
    async with Scenario(app, memory=running.memory, clock=running.clock, settings=host) as again:
        world.begin(again)
        await again.advance("1m")
        (row,) = await again.calls(CallState.EXHAUSTED)
        assert (row.reason, row.attempts) == (CallReason.BUDGET_SPENT, 4)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"key": "k" * 513}, "513 are given"),
        ({"key": ""}, "from 1 to 512 bytes"),
        ({"key": "a\x00b"}, "NUL"),
        ({"key": "\ud800"}, "lone surrogate"),
        ({"key": 5}, "it is a text"),
        ({"headers": {"a": 1}}, "the header 'a' is 1"),
        ({"headers": {"a": "\x00"}}, "the header 'a'"),
        ({"headers": {"": "x"}}, "a header's name"),
        ({"headers": {"a": "x" * 8_001}}, "8,001 are given"),
        ({"headers": ["a"]}, "a dictionary of texts"),
    ],
)
def test_what_no_store_keeps_is_refused_where_it_is_written(given: dict[str, Any], text: str) -> None:
    """S71, S75: alike whatever store calls lie in, by the option's name; an empty header is one."""
    with pytest.raises(DefinitionError) as refused:
        grant.options(**given)
    assert text in refused.value.message
    grant.options(key="k" * 512, headers={"a": "", "b": "ü"})


@pytest.mark.parametrize("wrong", [None, 5, "yes", Durable])
def test_durable_is_true_or_says_how(wrong: Any) -> None:  # noqa: ANN401 - as somebody might write it
    """F2: anything else would be taken for the default by accident."""
    with pytest.raises(DefinitionError, match="durable="):
        App("calls").retryable(durable=wrong)
