"""What the driver's errors mean: the one module that knows.

`translated` is for our own calls, where anything that another try may get past is "unavailable"; `classify_postgres` is
for what a handler raised, where an outage is systemic and a refused value is the aggregate's own (K7, H34). Both go by
SQLSTATE, so that errors of other drivers that carry one count alike; never by being an `OSError`, since a timeout is
one.
"""

from __future__ import annotations

import re

from asyncpg.exceptions import InterfaceError, InternalClientError, OutdatedSchemaCacheError, PostgresError

from wow_ray.adapters.class_names import is_a, is_class
from wow_ray.errors import StoreDataError, StoreUnavailableError, WowError
from wow_ray.failure import Category
from wow_ray.policy.by_class import Looks

CONFLICT = "WR001"
SECOND_APPEND = "WR002"
TOO_LARGE = "WR003"
INVALID = "WR004"
FAILED_TRANSACTION = "25P02"
UNIQUE_VIOLATION = "23505"
READ_ONLY = "25006"

_OUTAGE = ("08", "57P", "53", READ_ONLY)
_CONTENTION = frozenset({"40001", "40P01", "55P03", "57014"})
_DATA = ("22", "23", "42", "54")
_OURS_TO_REPEAT = (*_OUTAGE, "40", "55", "57", "58", "0A000", "XX", "25P03")
_REFUSED = (*_DATA, "P0", "44", "38", "39")
_SQLSTATE = re.compile(r"[0-9A-Z]{5}\Z")
_LOST = re.compile(
    r"connection (is|was|has been|already) (closed|released)|underlying connection is closed|pool is clos"
)
_LIBPQ = ("psycopg.OperationalError", "psycopg2.OperationalError", "psycopg_pool.PoolClosed")
_LIBPQ_MISUSE = ("psycopg.InterfaceError", "psycopg2.InterfaceError")
_POOL_FULL = ("psycopg_pool.TooManyRequests", "sqlalchemy.TimeoutError")
_LATE = ("psycopg.ConnectionTimeout", "psycopg_pool.PoolTimeout")


def sqlstate_of(error: BaseException) -> str:
    """Give the five characters of an error's SQLSTATE, by whichever name its driver has for it, or an empty text.

    Of an error that SQLAlchemy wrapped, that of the driver's.
    """
    for carrier in (error, getattr(error, "orig", None)):
        for name in ("sqlstate", "pgcode"):
            code = getattr(carrier, name, None)
            if isinstance(code, str) and _SQLSTATE.match(code):
                return code
    return ""


def is_lost_connection(error: BaseException) -> bool:
    """Whether the driver says that its connection is gone, as opposed to having been used wrongly."""
    return isinstance(error, InternalClientError) or (
        isinstance(error, InterfaceError) and _LOST.search(str(error)) is not None
    )


def is_client_data_error(error: BaseException) -> bool:
    """Whether the driver itself refused a value, before anything was sent."""
    return isinstance(error, InterfaceError) and isinstance(error, ValueError)


def translated(error: BaseException) -> StoreUnavailableError | StoreDataError | None:
    """Say what an error of one of our own calls means; `None` = it is a fault of the program, to be seen as it is.

    Unavailable: whatever the same call may get past later, its outcome unknown. Data: refused for what was sent.
    """
    code = sqlstate_of(error)
    if is_client_data_error(error) or code.startswith(_REFUSED):
        return StoreDataError(f"the store refused a value: {_said(error)}")
    if isinstance(error, OSError) or is_lost_connection(error) or code.startswith(_OURS_TO_REPEAT):
        return StoreUnavailableError(f"the store cannot be reached or gave no answer: {_said(error)}")
    return None


def classify_postgres(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a `Classifier`
    """Classify what a handler raised (K7); the module's classifier for Postgres, `None` = no opinion.

    A lost or refused connection is systemic. A refused value is the aggregate's own, and contention passes: both are
    recoverable by classification, so that they do not count towards a pause.
    """
    if isinstance(error, ConnectionError) or (
        is_lost_connection(error) and not isinstance(error, OutdatedSchemaCacheError)
    ):
        return Category.SYSTEMIC
    if is_client_data_error(error):
        return Category.RECOVERABLE
    code = sqlstate_of(error)
    if not code:
        return _of_other_drivers(error)
    if code.startswith(_OUTAGE):
        return Category.SYSTEMIC
    return Category.RECOVERABLE if code.startswith(_DATA) or code in _CONTENTION else None


def _of_other_drivers(error: BaseException) -> Category | None:
    """Classify what psycopg, psycopg2 and SQLAlchemy raise without a SQLSTATE: the server gave no answer.

    An `OperationalError` with one is judged by that alone, since refused values have that class too (S61).
    """
    if getattr(error, "connection_invalidated", None) is True:
        return Category.SYSTEMIC
    if is_a(error, *_POOL_FULL):
        return Category.BACKPRESSURE
    if is_a(error, *_LATE):
        return None
    if is_a(error, *_LIBPQ) or (is_a(error, *_LIBPQ_MISUSE) and _LOST.search(str(error))):
        return Category.SYSTEMIC
    return None


def _says_what_it_is(cls: type[BaseException]) -> bool:
    """Whether the text of an error of the class may count."""
    return issubclass(cls, InterfaceError) or is_class(cls, *_LIBPQ_MISUSE)


LOOKS = Looks(frozenset({"sqlstate", "pgcode", "orig", "connection_invalidated"}), _says_what_it_is)


def wants_jitter(error: BaseException) -> bool:
    """Whether retries should be spread: those who got into each other's way must not meet again (H34)."""
    return sqlstate_of(error) in _CONTENTION


def _said(error: BaseException) -> str:
    """Give the kind of an error and what it says, on one line and bounded."""
    code = sqlstate_of(error)
    kind = f"{type(error).__name__} {code}".strip()
    return f"{kind}: {' '.join(str(error).split())[:500]}"


def leaves_connection_healthy(error: BaseException) -> bool:
    """Whether a session may be used again: the server answered, or we raised.

    An answer that a prepared statement is stale does not count: it will be for every later call. Nor does one of a
    server that takes no writes: after a failover the right one is found by connecting anew.
    """
    if isinstance(error, WowError):
        return True
    return isinstance(error, PostgresError) and sqlstate_of(error) not in {"0A000", READ_ONLY}
