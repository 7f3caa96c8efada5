"""What the exceptions of redis-py (and of valkey-py, its twin) mean for a handler; the client is not imported (K7).

`redis.exceptions.ConnectionError` is no builtin `ConnectionError`. A timeout is not in the table: it counts towards
the window as every timeout does.
"""

from __future__ import annotations

from wow_ray.adapters.class_names import is_a, is_class, meaning
from wow_ray.failure import Category
from wow_ray.policy.by_class import Looks

_NAMED = {
    "ConnectionError": Category.SYSTEMIC,  # with BusyLoadingError and AuthenticationError below it
    "MaxConnectionsError": Category.BACKPRESSURE,  # the client's own pool is full
    "ReadOnlyError": Category.SYSTEMIC,  # a replica after a failover, as SQLSTATE 25006
    "ClusterDownError": Category.SYSTEMIC,  # with MasterDownError below it
    "ClusterError": Category.SYSTEMIC,
    "SlotNotCoveredError": Category.SYSTEMIC,
    "OutOfMemoryError": Category.SYSTEMIC,  # `maxmemory` is reached, as SQLSTATE 53
    "TryAgainError": Category.RECOVERABLE,  # keys on the move
    "WatchError": Category.RECOVERABLE,  # contention
    "LockError": Category.RECOVERABLE,  # contention
    "DataError": Category.RECOVERABLE,  # the client refused a value
    "NoScriptError": None,
}
_PACKAGES = ("redis", "valkey")
_MEANINGS = {f"{package}.{name}": category for package in _PACKAGES for name, category in _NAMED.items()}
_ANSWERS = tuple(f"{package}.ResponseError" for package in _PACKAGES)
_CONTENTION = tuple(f"{package}.{name}" for package in _PACKAGES for name in ("WatchError", "LockError"))
_WORDS = {
    **dict.fromkeys(("BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY")),
    "WRONGTYPE": Category.RECOVERABLE,
}
"""First words of the server's answers that may come without a class of their own; without a category: systemic."""


def classify_redis(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a `Classifier`
    """Classify what a Redis client raised; the module's classifier for Redis, `None` = no opinion."""
    found = meaning(error, _MEANINGS)
    if found is None and is_a(error, *_ANSWERS):
        word = str(error).partition(" ")[0]
        return (_WORDS[word] or Category.SYSTEMIC) if word in _WORDS else None
    return found


LOOKS = Looks(closer=lambda cls: is_class(cls, *_ANSWERS))


def is_contention(error: BaseException) -> bool:
    """Whether somebody else was in the way (H34): a watched key changed, or a lock was taken."""
    return is_a(error, *_CONTENTION)
