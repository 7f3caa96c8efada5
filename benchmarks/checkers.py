"""Checkers that run inside every benchmark: order, duplicates, loss. Fast where all is well."""


class Checker:
    """Follows the numbers of each aggregate, which count 1, 2, 3 … in the order they were appended.

    `seen` counts handled events, `out_of_order` those that came before an earlier one of their aggregate, `duplicates`
    those that had been handled already; `lost` counts what never came. `first` and `last` are the times of the first
    and the latest call.
    """

    __slots__ = ("_last", "_missing", "duplicates", "out_of_order", "seen")

    def __init__(self) -> None:
        """Nothing was seen."""
        self.seen = 0
        self.out_of_order = 0
        self.duplicates = 0
        self._last: dict[str, int] = {}
        self._missing: set[tuple[str, int]] = set()

    def saw(self, aggregate: str, number: int) -> None:
        """Note one handled event."""
        self.seen += 1
        expected = self._last.get(aggregate, 0) + 1
        if number == expected:
            self._last[aggregate] = number
        elif number > expected:
            self.out_of_order += 1
            self._missing.update((aggregate, missed) for missed in range(expected, number))
            self._last[aggregate] = number
        elif (aggregate, number) in self._missing:
            self._missing.discard((aggregate, number))
        else:
            self.duplicates += 1

    def lost(self, appended: dict[str, int]) -> int:
        """Count the events of these aggregates (id to number of events) that were never handled."""
        tail = sum(max(0, count - self._last.get(aggregate, 0)) for aggregate, count in appended.items())
        return tail + sum(aggregate in appended for aggregate, _ in self._missing)
