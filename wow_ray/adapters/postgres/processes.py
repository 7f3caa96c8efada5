"""Processes of this host: naming our own, and telling whether another one is gone for certain."""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

from wow_ray.ports.slots import Owner


def owner_here(partition: str) -> Owner:
    """Name a new incarnation of a partition that lives in this process."""
    pid = os.getpid()
    return Owner(
        id=uuid.uuid4().hex, partition=partition, host=this_host(), pid=pid, process_started=process_started(pid)
    )


@cache
def this_host() -> str:
    """Name this host so that equal names mean processes that can see each other.

    A host name alone does not: containers may share one and have processes of their own, and a machine may boot again.
    """
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8])
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115 - what it points to is no path
    return "/".join(parts)


def process_started(pid: int) -> float | None:
    """Give when a process started, in the kernel's own unit since boot.

    `None` where the system does not tell or there is none.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold anything, spaces and parentheses too; the start is the 20th field after it.
    return float(stat.rpartition(")")[2].split()[19])


def is_dead(pid: int, started: float | None) -> bool:
    """Whether the process of this host with that number and start is gone for certain; a zombie is gone."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    if started is None:
        return False
    now = process_started(pid)
    return now is not None and (now != started or _is_zombie(pid))


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended and only waits to be collected."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}
