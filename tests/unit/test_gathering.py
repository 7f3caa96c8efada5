"""Requests that go to a server together: shared round trips, answers of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from wow_ray.adapters.gathering import Gathering
from wow_ray.errors import StoreDataError, StoreUnavailableError
from wow_ray.testing.clock import at_rest


class Server:
    """Doubles numbers when it is told to; refuses what is below zero, and all while it is away."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()
        self.away = False

    async def double(self, numbers: Sequence[int]) -> list[int]:
        """Answer all of them at once."""
        self.batches.append(list(numbers))
        await self.open.wait()
        if self.away:
            raise StoreUnavailableError("away")
        if any(number < 0 for number in numbers):
            raise StoreDataError("below zero")
        return [number * 2 for number in numbers]


def gathering(server: Server, most: int = 100) -> Gathering[int, int]:
    """Weigh each number as itself."""
    return Gathering(server.double, most, abs)


async def test_the_first_goes_at_once_and_whoever_waits_goes_with_the_next() -> None:
    """Two statements for five requests, each answered as its own."""
    server = Server()
    together = gathering(server)
    asked = [asyncio.create_task(together.one(number)) for number in (1,)]
    await at_rest()
    asked += [asyncio.create_task(together.one(number)) for number in (2, 3, 4, 5)]
    await at_rest()
    server.open.set()
    assert await asyncio.gather(*asked) == [2, 4, 6, 8, 10]
    assert server.batches == [[1], [2, 3, 4, 5]]


async def test_no_statement_weighs_more_than_it_may_but_a_single_request_always_goes() -> None:
    """S75: large ones go by themselves, and in their order."""
    server = Server()
    server.open.set()
    together = gathering(server, most=10)
    assert await asyncio.gather(*map(together.one, (4, 6, 20, 3, 8))) == [8, 12, 40, 6, 16]
    assert server.batches == [[4, 6], [20], [3], [8]]


async def test_one_that_is_refused_takes_nobody_with_it() -> None:
    """S71: where data is refused, each goes by itself, and only the one at fault fails."""
    server = Server()
    server.open.set()
    answers = await asyncio.gather(*map(gathering(server).one, (1, -2, 3)), return_exceptions=True)
    assert (answers[0], answers[2]) == (2, 6)
    assert isinstance(answers[1], StoreDataError)


async def test_an_outage_is_told_to_all_and_the_next_are_tried() -> None:
    """Nobody waits for ever, and nothing is remembered against the server."""
    server = Server()
    server.open.set()
    together = gathering(server)
    server.away = True
    answers = await asyncio.gather(*map(together.one, (1, 2)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailableError] * 2
    server.away = False
    assert await together.one(4) == 8


async def test_a_request_cancelled_while_it_waits_does_not_go() -> None:
    """What has not been sent can be taken back; one under way takes no other with it when it is cancelled."""
    server = Server()
    together = gathering(server)
    asked = [asyncio.create_task(together.one(number)) for number in (1,)]
    await at_rest()
    asked += [asyncio.create_task(together.one(number)) for number in (2, 3)]
    await at_rest()
    asked[0].cancel()
    asked[1].cancel()
    server.open.set()
    await asyncio.gather(*asked, return_exceptions=True)
    assert server.batches == [[1], [3]]
    assert asked[2].result() == 6


async def test_whoever_waits_when_it_is_closed_is_cancelled() -> None:
    """Both the one under way and the one that waits."""
    server = Server()
    together = gathering(server)
    asked = [asyncio.create_task(together.one(number)) for number in (1, 2)]
    await at_rest()
    asked.append(asyncio.create_task(together.one(3)))
    await at_rest()
    await together.close()
    for task in asked:
        with pytest.raises(asyncio.CancelledError):
            await task
