"""Parked aggregates, whole: the row (`parked_row`), its life (`parked_life`), operators' commands (`parked_intents`).

Everybody else imports from here.
"""

from __future__ import annotations

from wow_ray.policy.parked_intents import Apply, Later, Outcome, Refuse, Verb, decide_intent
from wow_ray.policy.parked_life import (
    advanced,
    begin,
    ended,
    failed,
    given_back,
    held_back,
    hurried,
    interrupted,
    parked,
    reopened,
    resume,
    skip,
    spilled,
    spilled_again,
    stopped_again,
)
from wow_ray.policy.parked_row import FOR_A_PERSON, LAST_SEQUENCE, OPEN, Cause, Place, Reason, Row, State, Stop

__all__ = [
    "FOR_A_PERSON",
    "LAST_SEQUENCE",
    "OPEN",
    "Apply",
    "Cause",
    "Later",
    "Outcome",
    "Place",
    "Reason",
    "Refuse",
    "Row",
    "State",
    "Stop",
    "Verb",
    "advanced",
    "begin",
    "decide_intent",
    "ended",
    "failed",
    "given_back",
    "held_back",
    "hurried",
    "interrupted",
    "parked",
    "reopened",
    "resume",
    "skip",
    "spilled",
    "spilled_again",
    "stopped_again",
]
