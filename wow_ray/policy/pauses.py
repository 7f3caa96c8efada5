"""Why a group stands still: reasons beside each other, so that ending one never undoes another (H44, S83)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class PauseReason(StrEnum):
    """Why a group is paused, everywhere or in one partition.

    `OPERATOR`: a person asked for it. `DEPLOY`: a rollout has it wait. `RESTORED`: the store was restored, and a person
    has to say whether the outside may be acted on again. `RESET`: it is being reset. `SYSTEMIC`: its surroundings fail;
    it probes until they are back. `MASS_FAILURE`: too many aggregates failed alike (P16).
    """

    OPERATOR = "operator"
    DEPLOY = "deploy"
    RESTORED = "restored"
    RESET = "reset"
    SYSTEMIC = "systemic"
    MASS_FAILURE = "mass_failure"


STOPS = frozenset({PauseReason.OPERATOR, PauseReason.DEPLOY, PauseReason.RESTORED})
"""Reasons that are asked for from outside: the group stands still, and not even a probe is called.

The others are what a partition does by itself and notes for people to see.
"""


@dataclass(frozen=True, slots=True)
class PauseSeen:
    """A pause that has lasted; `partition` `None` = everywhere, `ended_at` `None` = it lasts."""

    partition: str | None
    reason: PauseReason
    since: datetime
    text: str
    ended_at: datetime | None
    ended_by: str = ""


class Paused(Protocol):
    """A pause that is present: of which group (its number outlives a rename), where (`None` = everywhere), why."""

    @property
    def number(self) -> int:
        """The group's number."""

    @property
    def partition(self) -> str | None:
        """The partition's lasting name, `None` = everywhere."""

    @property
    def reason(self) -> PauseReason:
        """Why."""


def stops_of(present: Iterable[Paused], number: int, partition: str) -> frozenset[str]:
    """Give the reasons for which a group is to stand still in a partition; empty = it may run."""
    return frozenset(
        pause.reason.value
        for pause in present
        if pause.number == number and pause.reason in STOPS and pause.partition in {None, partition}
    )
