"""Turns: who may begin a call in this process while it is careful (H10).

One process has one of these, whatever number of partitions it has: they die together, so they take turns together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wow_ray.policy.suspicion import AT_ONCE, admitted, widened

if TYPE_CHECKING:
    from collections.abc import Callable


class Turn:
    """One call that waits for its turn, or has it. Everything but its end is told by calling `begin`."""

    __slots__ = ("begin", "charges", "held", "key", "marked")

    def __init__(self, key: tuple[int, int], charges: int) -> None:
        """Stand for a call of the event at (group, position) of its slot, which is charged so often."""
        self.key = key
        self.charges = charges
        self.held = False
        """Whether it is too soon for this one: others go before it, whatever it is charged with."""
        self.marked = False
        """Whether the mark is in the store, so that the call may begin."""
        self.begin: Callable[[], None] = lambda: None


class Turns:
    """The turns of one process."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._waiting: list[Turn] = []
        self._having: set[Turn] = set()
        self._giving = False
        self._room, self._through = AT_ONCE, 0

    def ask(self, turn: Turn) -> None:
        """Wait for a turn; `turn.begin()` is called once it has come, perhaps at once."""
        self._waiting.append(turn)
        self._give()

    def leave(self, turn: Turn) -> None:
        """Give a turn back, or wait for it no more."""
        if turn in self._having and not turn.charges:
            self._room, self._through = widened(self._room, self._through)
        self._having.discard(turn)
        if turn in self._waiting:
            self._waiting.remove(turn)
        self._give()

    def look(self) -> None:
        """Look again: somebody is not held any more."""
        self._give()

    def _give(self) -> None:
        if self._giving:  # by somebody's `begin`: the loop below looks again
            return
        self._giving = True
        try:
            while chosen := self._chosen():
                for turn in chosen:
                    self._waiting.remove(turn)
                    self._having.add(turn)
                for turn in chosen:
                    turn.begin()
        finally:
            self._giving = False

    def _chosen(self) -> list[Turn]:
        waiting = [turn for turn in self._waiting if not turn.held]
        charges = [turn.charges for turn in waiting]
        alone = any(turn.charges for turn in self._having)
        return [waiting[index] for index in admitted(charges, len(self._having), alone=alone, room=self._room)]
