"""The answers that are more than one value of `ops`: how they look, for OpenAPI.

All other answers are described by the values that they are made of.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import TypedDict

from wow_ray.ops.effective import SettingView
from wow_ray.ops.finding_views import AlikeView, EventView
from wow_ray.ops.pause_views import PauseView
from wow_ray.ops.progress import GroupView, PartitionView
from wow_ray.ops.scaling import MoveView
from wow_ray.ops.views import ParkedView, Pending


class Partitions(TypedDict):
    """What of the status is about partitions."""

    plan: int | None
    release: str | None
    slots: int
    unowned: list[int]
    moves: list[MoveView]
    running: int
    rate: float
    failed_rate: float
    troubles: list[str]
    partitions: list[PartitionView]


class Groups(TypedDict):
    """Every group."""

    groups: list[GroupView]


class Pauses(TypedDict):
    """The pauses of a group, the newest first."""

    pauses: list[PauseView]


class Alike(TypedDict):
    """Rows by the fingerprint of their last error, those of most rows first."""

    groups: list[AlikeView]


class Events(TypedDict):
    """An aggregate's events around the stopped one."""

    events: list[EventView]


class Settings(TypedDict):
    """What each handler of a group runs under."""

    settings: dict[str, list[SettingView]]


class Ready(TypedDict):
    """How an app is whose every slot has an owner."""

    ready: bool
    slots: int
    plan: int | None
    release: str | None


class Healthy(TypedDict):
    """The age in seconds of the oldest event that nobody has finished, and what else is left to do."""

    oldest_unfinished: float
    healthy: bool
    lag: int
    parked: int


@dataclass(frozen=True, slots=True)
class PendingOnRow(Pending):
    """A command that is stored and not applied yet, with the row as it is; `None` = it is about none."""

    row: ParkedView | None = None
