"""What somebody may do: each role may also do what those before it may."""

from __future__ import annotations

from enum import StrEnum

ADMIN_ONLY = ("/reset", "/scale")
"""Endings of addresses whose effect no later command takes back."""


class Role(StrEnum):
    """A viewer looks, an operator commands, an admin also resets projections."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def covers(self, wanted: Role) -> bool:
        """Whether who has this role may do what takes the other."""
        order = list(Role)
        return order.index(self) >= order.index(wanted)


def wanted_for(method: str, path: str) -> Role:
    """Say what a request takes: a role that may change something, unless it only looks (S109)."""
    if method in {"GET", "HEAD", "OPTIONS"}:
        return Role.VIEWER
    return Role.ADMIN if path.endswith(ADMIN_ONLY) else Role.OPERATOR
