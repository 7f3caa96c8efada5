"""Plans: what happens to a world, step by step, and what its handlers' calls do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tests.unit.parking.desk import COURIER, MAILER, SUMS, Busy, Outcome, Trouble
from wow_ray import UnrecoverableHandlingError
from wow_ray.policy.parked import Verb

ORDERS = ("b", "c", "d", "a")
"""Of the two slots of a world the first three share one."""
HANDLERS = (MAILER, COURIER, f"{SUMS}.on_moved", f"{SUMS}.on_noted")
FailingOperation = Literal[
    "slots.commit",
    "slots.let_go",
    "slots.acquire_free",
    "effects.commit",
    "drains.streams",
    "reader.page",
    "effects.begin",
    "ledger.read",
]


@dataclass(frozen=True)
class Append:
    """So many commits to one order, of one event or of two."""

    order: int
    commits: int
    notes: int


@dataclass(frozen=True)
class Pass:
    """Time passes; `look` = the processes are told to look for news first."""

    seconds: float
    look: bool


@dataclass(frozen=True)
class Kill:
    """The process dies, at once or inside its n-th operation from now."""

    operations: int


@dataclass(frozen=True)
class Stop:
    """The process is stopped in order."""


@dataclass(frozen=True)
class Start:
    """A process starts, unless one runs; `over` = also then, and the one that runs has lost its lease."""

    partitions: int
    over: bool


@dataclass(frozen=True)
class Command:
    """An operator's command: on one of the open rows, if there are any, else on one order in one group."""

    verb: Verb
    row: int
    group: int
    order: int
    etag: Literal["any", "present", "stale"]
    through: int | None
    twice: bool


@dataclass(frozen=True)
class Fail:
    """Operations of the store fail, before or after they were carried out."""

    operation: FailingOperation
    at: Literal["start", "end"]
    times: int


@dataclass(frozen=True)
class Slow:
    """So large a share of the store's operations takes long."""

    share: float


@dataclass(frozen=True)
class Hold:
    """A group is paused for a reason, or that pause is ended; everywhere or in one partition."""

    group: int
    reason: Literal["operator", "deploy"]
    partition: Literal["shop-0", "shop-1"] | None
    on: bool


@dataclass(frozen=True)
class Move:
    """A new plan for a process of two partitions: which slots the first one is to own; the second has the others."""

    first: tuple[int, ...]


Step = Append | Pass | Kill | Stop | Start | Command | Fail | Slow | Hold | Move


@dataclass(frozen=True)
class Trick:
    """What the calls of one event do, in turn; `always` = the last of it again and again."""

    handler: int
    order: int
    version: int
    outcomes: tuple[str, ...]
    always: bool


@dataclass(frozen=True)
class Plan:
    """What happens; `seed` is that of the network's times."""

    seed: int
    tricks: tuple[Trick, ...]
    steps: tuple[Step, ...]


OUTCOMES: Mapping[str, Outcome] = {
    "fails": Trouble("no"),
    "never": UnrecoverableHandlingError("never"),
    "busy": Busy(0.2),
    "long": Busy(7.0),
    "outage": ConnectionRefusedError("down"),
    "turns": 0.0,
    "slow": 1.0,
    "slower": 4.0,
    "fine": None,
}
