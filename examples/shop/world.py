"""The outside of the shop, simulated: buyers who are not known yet, a carrier that is slow, moody and easily busy.

Everything is decided by a seed, takes real time, and is remembered: each call with its invocation key and what became
of it. `repair` sets right what no retry can.
"""

import asyncio
from collections import Counter
from random import Random
from typing import Literal, NamedTuple

from examples.shop.shop import Buyers, Carrier, CarrierBusyError, ParcelRefusedError, UnknownBuyerError

Answer = Literal["done", "again", "unknown", "refused", "busy", "late"]
"""What became of a call; `again` is a key that was done before, answered as the first time."""


NEVER = 3600.0
"""Seconds; longer than anybody waits."""


class Call(NamedTuple):
    """One call of the outside."""

    key: str
    about: str
    answer: Answer


class Calls:
    """The memory of one service: what was asked, and what each key was answered when it was done."""

    def __init__(self) -> None:
        """Nothing has happened."""
        self.all: list[Call] = []
        self.done: dict[str, str] = {}

    def note(self, key: str, about: str, answer: Answer) -> None:
        """Remember one call."""
        self.all.append(Call(key, about, answer))

    def finish(self, key: str, about: str, result: str) -> str:
        """Do it once for each key; answers the first result."""
        self.note(key, about, "again" if key in self.done else "done")
        return self.done.setdefault(key, result)

    def count(self) -> Counter[Answer]:
        """Count the calls by what became of them."""
        return Counter(call.answer for call in self.all)


class Mail(Buyers):
    """Tells buyers, except those whose address is missing."""

    def __init__(self, unknown: frozenset[str]) -> None:
        """`unknown` buyers have no address yet."""
        self.unknown = unknown
        self.calls = Calls()

    async def tell(self, buyer: str, text: str, *, key: str) -> None:
        """Take a millisecond; see `Buyers`."""
        await _takes(0.001)
        if buyer in self.unknown:
            self.calls.note(key, buyer, "unknown")
            raise UnknownBuyerError(f"there is no address for {buyer}")
        self.calls.finish(key, buyer, text)


class Depot(Carrier):
    """Collects parcels, not more than `docks` at once.

    It takes some milliseconds, for 1 parcel in 50 half a second, and for 1 in 500 the first call never ends; 1 in 16
    is taken only at the second or third try.
    """

    def __init__(self, damaged: frozenset[str], seed: int, *, docks: int = 40) -> None:
        """`damaged` parcels are refused until the labels are repaired."""
        self.damaged = damaged
        self.docks = docks
        self.calls = Calls()
        self._seed = seed
        self._refusals: dict[str, int] = {}
        self._here = 0

    async def collect(self, parcel_id: str, grams: int, *, key: str) -> str:
        """See `Carrier`."""
        if self._here >= self.docks:
            self.calls.note(key, parcel_id, "busy")
            raise CarrierBusyError(f"all {self.docks} docks are taken")
        self._here += 1
        try:
            return await self._collected(parcel_id, grams, key)
        except asyncio.CancelledError:
            self.calls.note(key, parcel_id, "late")
            raise
        finally:
            self._here -= 1

    async def _collected(self, parcel_id: str, grams: int, key: str) -> str:
        first = parcel_id not in self._refusals
        if first:
            chance = Random(f"{self._seed}:{parcel_id}").random()
            self._refusals[parcel_id] = 2 if chance < 1 / 32 else 1 if chance < 1 / 16 else 0
            await _takes(NEVER if chance > 1 - 1 / 500 else 0.5 if chance > 1 - 1 / 50 else 0.003 + chance / 100)
        else:
            await _takes(0.002)
        damaged = parcel_id in self.damaged
        if damaged or self._refusals[parcel_id] > 0:
            self._refusals[parcel_id] -= 1
            self.calls.note(key, parcel_id, "refused")
            raise ParcelRefusedError(
                f"the carrier refuses {parcel_id}: {'its label cannot be read' if damaged else 'no reason given'}"
            )
        return self.calls.finish(key, parcel_id, f"T{len(self.calls.done):06}-{grams}")


class World:
    """Buyers and carrier; the same seed gives the same moods."""

    def __init__(self, seed: int, *, unknown_buyers: frozenset[str], damaged_parcels: frozenset[str]) -> None:
        """Say which buyers and parcels wait for a repair."""
        self.mail = Mail(unknown_buyers)
        self.depot = Depot(damaged_parcels, seed)

    def repair(self, *, except_buyers: frozenset[str] = frozenset()) -> None:
        """Find the missing addresses, but for some, and print the damaged labels anew."""
        self.mail.unknown &= except_buyers
        self.depot.damaged = frozenset()


async def _takes(seconds: float) -> None:
    await asyncio.sleep(seconds)  # noqa: TID251 - the outside takes real time
