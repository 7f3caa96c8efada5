"""Failures of durable calls as JSON, for stores that keep them in one field."""

from __future__ import annotations

import json
from dataclasses import asdict

from wow_ray.failure import Category, Failure


def failure_text(failure: Failure | None) -> str | None:
    """Write a failure."""
    return None if failure is None else json.dumps(asdict(failure))


def failure_of(text: str | None) -> Failure | None:
    """Read one."""
    if not text:
        return None
    fields = json.loads(text)
    return Failure(**{**fields, "category": Category(fields["category"])})
