"""The journal: a file to which every process of the shop appends a line as a call begins and as it ends.

An appended line is the kernel's at once, so no kill of the process takes it back; and the lines of all processes stand
in the order they were written in.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wow_ray import Event

Mark = Literal["begun", "done", "failed"]
"""`failed` is also a call that was cancelled; a call whose process is killed has no end."""


class Place(NamedTuple):
    """One event of one aggregate."""

    aggregate: str
    id: str
    version: int
    sequence: int


class Line(NamedTuple):
    """One line: a subscription's call for an event, in which process, at which second of the machine's own time."""

    mark: Mark
    subscription: str
    place: Place
    pid: int
    at: float


class Pen:
    """Writes lines for this process."""

    def __init__(self, path: str) -> None:
        """Open the journal, which is there."""
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._pid = os.getpid()

    def write(self, mark: Mark, subscription: str, event: Event[Any], at: float) -> None:
        """Append one line, in one call of the system: lines of several processes do not mix."""
        place = (event.ref.aggregate, event.ref.id, event.version, event.sequence)
        os.write(self._file, json.dumps([mark, subscription, place, self._pid, at]).encode() + b"\n")


class Journal:
    """Reads the lines, while they are written."""

    def __init__(self, path: Path) -> None:
        """Begin an empty one."""
        path.touch()
        self._file = path.open("rb")
        self._rest = b""

    def new(self) -> Iterator[Line]:
        """Give the lines that were written since the last time."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            mark, subscription, place, pid, at = json.loads(line)
            yield Line(mark, subscription, Place(*place), pid, at)

    def close(self) -> None:
        """Read no more."""
        self._file.close()
