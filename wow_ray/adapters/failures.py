"""What the modules for drivers and clients know of errors, in the order in which they are asked (K1, K7)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from wow_ray.adapters import builtin_failures, http_failures, ray_failures
from wow_ray.adapters.foreign import foreign_classifiers
from wow_ray.adapters.postgres import errors as postgres_errors
from wow_ray.adapters.redis import errors as redis_errors
from wow_ray.failure import causes
from wow_ray.policy.classifiers import Foreign, Module
from wow_ray.policy.classify import leaves
from wow_ray.raised import members_of

__all__ = ["MODULES", "modules", "wants_jitter"]

MODULES = (
    Module(builtin_failures.builtin, builtin_failures.LOOKS),
    Module(postgres_errors.classify_postgres, postgres_errors.LOOKS),
    Module(redis_errors.classify_redis, redis_errors.LOOKS),
    Module(http_failures.classify_http, http_failures.LOOKS),
    Module(ray_failures.classify_ray, ray_failures.LOOKS),
)
"""Our own: they neither wait nor hang, and are asked where the loop runs."""

_LEAVES = 64


@cache
def modules() -> tuple[Module | Foreign, ...]:
    """Give our own classifiers, then those that other installed packages bring, by name; found once in a process."""
    return (*MODULES, *foreign_classifiers())


def wants_jitter(error: BaseException) -> bool:
    """Whether retries should be spread: those who got into each other's way must not meet again (H34).

    Looks along the explicit causes and into groups, as the classification does, and at nothing on an error that the
    modules do not look at.
    """
    return any(_was_contention(link) for leaf in _apart(error) for link in causes(leaf))


def _apart(error: BaseException) -> Iterator[BaseException]:
    """Give the error, and the leaves of each group in its chain."""
    yield error
    for link in causes(error):
        if members_of(link) is not None:
            yield from leaves(link)[:_LEAVES]


def _was_contention(error: BaseException) -> bool:
    return (
        postgres_errors.wants_jitter(error)
        or redis_errors.is_contention(error)
        or builtin_failures.is_contention(error)
    )
