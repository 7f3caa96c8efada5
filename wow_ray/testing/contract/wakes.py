# ruff: noqa: S101, PLR2004 - assert is how a contract speaks, and its numbers are examples
"""The contract of wake-ups: heard by everybody of the app, told at once or never, and never in the way (S112)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from wow_ray.ports.wakes import Heads, Wakes

SECONDS = 10.0
PROBE = 999_999
"""A slot that nobody has: heard of it, a listener listens."""


class Ears:
    """What one listener heard: the highest position of each slot, and in how many calls."""

    def __init__(self) -> None:
        self.heads: dict[int, int] = {}
        self.calls = 0
        self.listens = False
        self._more = asyncio.Event()

    def __call__(self, heads: Heads) -> None:
        """Hear."""
        self.listens = True
        if told := {slot: position for slot, position in heads.items() if slot != PROBE}:
            self.calls += 1
            for slot, position in told.items():
                self.heads[slot] = max(position, self.heads.get(slot, 0))
        self._more.set()

    async def hear(self, heads: Heads) -> None:
        """Wait until all this was heard; at most 10 s."""
        async with asyncio.timeout(SECONDS):
            while not all(self.heads.get(slot, 0) >= position for slot, position in heads.items()):
                self._more.clear()
                await self._more.wait()

    async def attend(self, teller: Wakes) -> None:
        """Wait until something new of `teller` is heard, which goes on telling meanwhile; at most 10 s."""
        self.listens = False
        async with asyncio.timeout(SECONDS):
            while not self.listens:
                teller.told({PROBE: 1})
                self._more.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.02):
                        await self._more.wait()


class WakesContract:
    """The whole contract of `Wakes`; override `bus`."""

    @pytest.fixture
    def bus(self) -> Callable[..., Wakes]:
        """Give what opens one more bus, as another process would: `bus(schema="wow", context="shop")`."""
        raise NotImplementedError

    async def test_what_one_tells_all_of_the_app_hear(self, bus: Callable[..., Wakes]) -> None:
        """Two listeners, of the teller's own process and of another one, hear slots 3 and 5."""
        teller, other = bus(), bus()
        mine, theirs = Ears(), Ears()
        async with teller.listening(mine), other.listening(theirs):
            await mine.attend(teller)
            await theirs.attend(teller)

            teller.told({3: 7, 5: 2})

            await mine.hear({3: 7, 5: 2})
            await theirs.hear({3: 7, 5: 2})

    async def test_a_burst_is_a_few_messages(self, bus: Callable[..., Wakes]) -> None:
        """1,000 hints about 10 slots told in one turn come as one or two calls, with the last position of each slot."""
        teller, ears = bus(), Ears()
        async with bus().listening(ears):
            await ears.attend(teller)

            for position in range(1, 101):
                for slot in range(10):
                    teller.told({slot: position})

            await ears.hear(dict.fromkeys(range(10), 100))
            assert ears.calls <= 2

    async def test_any_number_of_slots_is_told_at_once(self, bus: Callable[..., Wakes]) -> None:
        """4,096 slots, the most there may be, at positions of 19 digits."""
        teller, ears = bus(), Ears()
        async with bus().listening(ears):
            await ears.attend(teller)
            heads = dict.fromkeys(range(4096), 9_000_000_000_000_000_000)

            teller.told(heads)

            await ears.hear(heads)

    async def test_other_apps_hear_nothing(self, bus: Callable[..., Wakes]) -> None:
        """H57: neither another context nor another schema, also where 100 letters of the names are the same."""
        long = "s" * 100
        tellers = [bus(), bus(context="shop2"), bus(schema="other"), bus(context=f"{long}1"), bus(context=f"{long}2")]
        all_ears = [Ears() for _ in tellers]
        async with (
            tellers[0].listening(all_ears[0]),
            tellers[1].listening(all_ears[1]),
            tellers[2].listening(all_ears[2]),
            tellers[3].listening(all_ears[3]),
            tellers[4].listening(all_ears[4]),
        ):
            for teller, ears in zip(tellers, all_ears, strict=True):
                await ears.attend(teller)

            for slot, teller in enumerate(tellers):
                teller.told({slot: 1})

            for slot, ears in enumerate(all_ears):
                await ears.hear({slot: 1})
            for teller, ears in zip(tellers, all_ears, strict=True):
                await ears.attend(teller)
            assert [list(ears.heads) for ears in all_ears] == [[slot] for slot in range(5)]

    async def test_what_was_told_last_is_sent_before_the_end(self, bus: Callable[..., Wakes]) -> None:
        """A producer that appends once and ends at once is heard; after the end telling does nothing."""
        ears, listener = Ears(), bus()
        async with listener.listening(ears):
            await ears.attend(listener)
            producer = bus()

            producer.told({1: 1})
            await producer.close()
            producer.told({1: 2})

            await ears.hear({1: 1})
            await ears.attend(listener)
            assert ears.heads == {1: 1}

    async def test_nobody_hears_after_the_end_of_the_block(self, bus: Callable[..., Wakes]) -> None:
        """What is told then does not come later either."""
        teller, ears, listener = bus(), Ears(), bus()
        async with teller.listening(ears):
            await ears.attend(teller)
        calls = ears.calls

        others = Ears()
        async with listener.listening(others):
            await others.attend(teller)
            teller.told({1: 1})
            await others.hear({1: 1})

        assert (ears.calls, ears.heads) == (calls, {})
