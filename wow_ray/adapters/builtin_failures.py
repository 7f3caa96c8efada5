"""What errors mean that need no client to be known: Python's own about the network, and ours."""

from __future__ import annotations

import errno
from socket import gaierror

from wow_ray.errors import (
    AppendError,
    BulkheadFullError,
    CommandBusyError,
    ConcurrencyError,
    SchemaError,
    StoreDataError,
    StoreUnavailableError,
    WaitTimeoutError,
)
from wow_ray.failure import Category
from wow_ray.policy.by_class import Looks

_UNREACHABLE = frozenset({errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH})


def builtin(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a `Classifier`
    """Classify what the network and wow-ray itself raise (K7); the first of the modules' classifiers.

    Never by being an `OSError`, since a timeout is one: by the class of a lost or refused connection, by a name that
    cannot be resolved, or by the number that says that there is no way to a host. A version conflict of an append is
    contention, and what the log refused is the aggregate's own.
    """
    if isinstance(error, (CommandBusyError, WaitTimeoutError, BulkheadFullError)):
        return Category.BACKPRESSURE
    if isinstance(error, (ConnectionError, gaierror, StoreUnavailableError, SchemaError)):
        return Category.SYSTEMIC
    if isinstance(error, (AppendError, StoreDataError)):
        return Category.RECOVERABLE
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return Category.SYSTEMIC
    return None


def _has_a_number(cls: type[BaseException]) -> bool:
    """Whether the number of an `OSError` may count."""
    return issubclass(cls, OSError) and not issubclass(cls, (ConnectionError, gaierror))


LOOKS = Looks(closer=_has_a_number)


def is_contention(error: BaseException) -> bool:
    """Whether somebody else was in the way, who may be again unless both wait differently long (H34)."""
    return isinstance(error, ConcurrencyError)
