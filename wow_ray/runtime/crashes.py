"""What a row says that is parked because its process died each time it was handled (P15)."""

from __future__ import annotations

from wow_ray.failure import Category, Failure, capture
from wow_ray.policy.suspicion import DEATHS


class WorkerDiedError(Exception):
    """The process died while an event was handled, and again each time it was tried."""


def crash() -> Failure:
    """Give what a row says that is parked for the deaths of its process."""
    text = (
        f"the process died {DEATHS} times while this event was handled; no exception says why: its own log may, or the "
        "system's (out of memory, a fault in native code, os._exit)"
    )
    return capture(WorkerDiedError(text), Category.UNRECOVERABLE, "process")
