"""What stores of durable calls have in common: failures as JSON in one field, and how many calls go together."""

from __future__ import annotations

import json
from dataclasses import asdict

from wow_ray.failure import Category, Failure
from wow_ray.policy.durable_call import NewCall

MOST_TOGETHER = 2_000_000
"""What calls may weigh that are stored in one statement: a payload is a million at most."""


def failure_text(failure: Failure | None) -> str | None:
    """Write a failure."""
    return None if failure is None else json.dumps(asdict(failure))


def failure_of(text: str | None) -> Failure | None:
    """Read one."""
    if not text:
        return None
    fields = json.loads(text)
    return Failure(**{**fields, "category": Category(fields["category"])})


def weight_of(call: NewCall) -> int:
    """Weigh a call: its characters, and what every call takes."""
    return 2_000 + len(call.payload)
