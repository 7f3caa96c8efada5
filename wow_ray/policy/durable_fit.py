"""What becomes of a call that this program's function no longer fits, or not yet (F4, S95). Pure.

During a rollout an older program meets calls of a newer one: it leaves them for others, for a while. What is surely
older than this program, or what nobody took for an hour, waits for a person. Neither is an attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from wow_ray.policy.durable_call import CallReason
from wow_ray.policy.durable_endings import Exhausted, Uncharged

PATIENCE = timedelta(hours=1)
"""How long calls are left for others: longer than a rollout takes."""
LEFT_FOR = 15.0
"""Seconds until such a call is looked at again."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a stored call does not fit the function. `older` = what wrote it is surely older than this program."""

    text: str
    older: bool


def decide_unfit(unfit: Unfit, aside_since: datetime | None, now: datetime) -> Uncharged | Exhausted:
    """Answer what is done with the call; `aside_since` is since when programs have left it for others."""
    if unfit.older or (aside_since is not None and now - aside_since >= PATIENCE):
        return Exhausted(CallReason.UNFIT, note=unfit.text, uncharged=True)
    return Uncharged(LEFT_FOR, unfit.text, aside=True)
