"""How often somebody may be wrong about a token."""

from __future__ import annotations

from collections import OrderedDict, deque

MOST = 5
"""Failures of one address within `WINDOW`; whoever has so many waits for the first of them to be that old."""
WINDOW = 300.0
MOST_ADDRESSES = 10_000
"""Addresses kept in mind, those that failed last."""


class Failures:
    """Failures by address. Times are seconds that never step; this asks nobody for them."""

    def __init__(self) -> None:
        """Nobody has failed yet."""
        self._by_address: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str, now: float) -> float:
        """Answer in how many seconds that address may try again, 0 = now."""
        times = self._by_address.get(address)
        while times and times[0] <= now - WINDOW:
            times.popleft()
        return times[0] + WINDOW - now if times and len(times) >= MOST else 0.0

    def failed(self, address: str, now: float) -> None:
        """Keep one failure in mind."""
        times = self._by_address.setdefault(address, deque(maxlen=MOST))
        times.append(now)
        self._by_address.move_to_end(address)
        while len(self._by_address) > MOST_ADDRESSES:
            self._by_address.popitem(last=False)

    def forget(self, address: str) -> None:
        """Forget an address: whoever is there has a token."""
        self._by_address.pop(address, None)
