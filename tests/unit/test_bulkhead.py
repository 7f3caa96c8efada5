"""`Bulkhead`: room for so many calls at once, first come, first served, and a clear answer when there is none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from tests.waiting import until, until_blocking
from wow_ray import Bulkhead, BulkheadFullError, DefinitionError, SettingsError
from wow_ray.adapters.builtin_failures import builtin
from wow_ray.failure import Category


async def test_within_the_limit_nobody_waits_and_the_numbers_show_it() -> None:
    """Two of two places; both are free afterwards, also after an error."""
    carrier = Bulkhead(2, name="carrier")

    async with carrier, carrier:
        assert (carrier.in_use, carrier.waiting) == (2, 0)
        assert repr(carrier) == "<carrier: 2 of 2 in use, 0 waiting>"
    with pytest.raises(KeyError):
        async with carrier:
            raise KeyError
    assert carrier.in_use == 0


async def test_when_it_is_full_a_call_without_a_wait_is_refused_at_once_as_backpressure() -> None:
    """K7: the error is ours, names the bulkhead, and its category is backpressure."""
    carrier = Bulkhead(1, name="carrier")

    async with carrier:
        with pytest.raises(BulkheadFullError, match=r"WOW-BULKHEAD carrier: all 1 places are in use$") as caught:
            await carrier.__aenter__()
    assert builtin(caught.value, "Notifier.on_paid") is Category.BACKPRESSURE
    assert carrier.in_use == 0


async def test_a_wait_ends_in_a_place_or_in_the_error() -> None:
    """The wait is a duration as everywhere, and the error says how long it was."""
    patient, hasty = Bulkhead(1, wait="1m"), Bulkhead(1, wait="20ms")
    order: list[str] = []

    async def second() -> None:
        async with patient:
            order.append("second")

    async with patient:
        task = asyncio.ensure_future(second())
        await until(lambda: patient.waiting, "the second call in line")
        order.append("first")
    await task
    assert order == ["first", "second"]
    async with hasty:
        with pytest.raises(BulkheadFullError, match="none became free within 20ms"):
            await hasty.__aenter__()
    assert (hasty.in_use, hasty.waiting) == (0, 0)


async def test_those_who_wait_are_served_in_order_whether_they_are_tasks_or_threads() -> None:
    """FIFO across both kinds; nobody overtakes a line, however often a place becomes free."""
    carrier = Bulkhead(1, wait="1m")
    order: list[int] = []

    async def task(number: int) -> None:
        async with carrier:
            order.append(number)

    def thread(number: int) -> None:
        with carrier:
            order.append(number)

    waiting: list[asyncio.Future[None]] = []
    async with carrier:
        for number in range(6):
            call = task(number) if number % 2 else asyncio.to_thread(thread, number)
            waiting.append(asyncio.ensure_future(call))
            await until(lambda number=number: carrier.waiting == number + 1, "one more in line")  # type: ignore[misc]
    await asyncio.gather(*waiting)
    assert order == [0, 1, 2, 3, 4, 5]
    assert (carrier.in_use, carrier.waiting) == (0, 0)


async def test_a_cancelled_wait_leaves_the_line_and_a_cancelled_call_its_place() -> None:
    """S68: nothing leaks, also when the cancellation comes at the moment of the assignment."""
    carrier = Bulkhead(1, wait="1m")

    async with carrier:
        leaving = asyncio.ensure_future(carrier.__aenter__())
        staying = asyncio.ensure_future(carrier.__aenter__())
        await until(lambda: carrier.waiting == 2, "two in line")
        leaving.cancel()
        await asyncio.wait({leaving})
        assert carrier.waiting == 1
    await staying
    assert carrier.in_use == 1
    late = asyncio.ensure_future(carrier.__aenter__())
    await until(lambda: carrier.waiting == 1, "one in line")
    await carrier.__aexit__()  # gives the place to `late`, which is cancelled before it can notice
    late.cancel()
    await asyncio.wait({late})
    assert late.cancelled()
    assert (carrier.in_use, carrier.waiting) == (0, 0)


def test_one_bulkhead_serves_several_event_loops() -> None:
    """Two loops in two threads share three places: never more than three calls at once, and all are made."""
    carrier = Bulkhead(3, wait="1m")
    most = 0
    made: list[int] = []

    async def call(number: int) -> None:
        nonlocal most
        async with carrier:
            most = max(most, carrier.in_use)
            await asyncio.to_thread(lambda: None)
            made.append(number)

    async def calls() -> None:
        await asyncio.gather(*(call(number) for number in range(40)))

    threads = [threading.Thread(target=lambda: asyncio.run(calls())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, len(made), carrier.in_use, carrier.waiting) == (3, 80, 0, 0)


def test_blocking_code_waits_in_its_thread() -> None:
    """`with`, as blocking handlers use it: refused at once, after a wait, or served."""
    hasty, patient = Bulkhead(1, wait="10ms"), Bulkhead(1, wait="1m")
    served = threading.Event()

    with hasty, pytest.raises(BulkheadFullError):
        hasty.__enter__()

    def second() -> None:
        with patient:
            served.set()

    thread = threading.Thread(target=second)
    with patient:
        thread.start()
        until_blocking(lambda: patient.waiting, "the thread in line")
    thread.join()
    assert served.is_set()
    assert (hasty.in_use, patient.in_use) == (0, 0)


async def test_blocking_use_inside_an_event_loop_is_refused() -> None:
    """It would stop the loop, and with it the call that is to free the place."""
    with pytest.raises(DefinitionError, match=r"WOW-ASYNC carrier: .* write `async with`"):
        Bulkhead(1, name="carrier").__enter__()


async def test_as_a_decorator_it_takes_one_place_for_each_call() -> None:
    """On functions of either kind; what they are called and answer stays."""
    carrier = Bulkhead(1)

    @carrier
    async def tell(buyer: str) -> str:
        assert carrier.in_use == 1
        return f"told {buyer}"

    @carrier
    def write(buyer: str) -> str:
        assert carrier.in_use == 1
        return f"wrote {buyer}"

    assert (await tell("ada"), await asyncio.to_thread(write, "ada")) == ("told ada", "wrote ada")
    assert (tell.__name__, carrier.in_use) == ("tell", 0)
    async with carrier:
        with pytest.raises(BulkheadFullError):
            await tell("ada")

    async def numbers() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(DefinitionError, match="is a generator"):
        carrier(numbers)


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "3", None])
def test_a_limit_is_a_whole_number_of_calls(limit: object) -> None:
    """Found where it is written."""
    with pytest.raises(DefinitionError, match="whole number"):
        Bulkhead(limit)  # type: ignore[arg-type]


def test_a_wait_is_a_duration() -> None:
    """B6: a bare number is refused; zero is no wait."""
    with pytest.raises(SettingsError, match=r"WOW-B6 Bulkhead\(wait=\.\.\.\)"):
        Bulkhead(1, wait=2)  # type: ignore[arg-type]
    with Bulkhead(1, wait="0s") as full, pytest.raises(BulkheadFullError, match=r"in use$"):
        full.__enter__()
