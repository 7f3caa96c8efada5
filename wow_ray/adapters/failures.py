"""What the modules for drivers and clients know of errors, in the order in which they are asked (K1, K7)."""

from __future__ import annotations

from wow_ray.adapters.http_failures import classify_http
from wow_ray.adapters.postgres.errors import classify_postgres, wants_jitter
from wow_ray.policy.classify import builtin

__all__ = ["MODULES", "wants_jitter"]

MODULES = (builtin, classify_postgres, classify_http)
