"""What the exceptions of clients mean, the real ones of those that are installed, and likenesses of the others (K7)."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
import urllib.error
from email.message import Message
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import asyncpg
import httpx
import pytest
import ray.exceptions
import redis.exceptions
import requests
import urllib3.exceptions
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from wow_ray.adapters.failures import MODULES, wants_jitter
from wow_ray.errors import ConcurrencyError, EventTooLargeError, SchemaError, StoreDataError
from wow_ray.failure import Category
from wow_ray.policy.classify import Classified, Lists, classify

SYSTEMIC, RECOVERABLE, BACKPRESSURE = Category.SYSTEMIC, Category.RECOVERABLE, Category.BACKPRESSURE


def verdict(error: BaseException) -> Classified:
    """Classify with our own modules and nothing else."""

    def broken(classifier: object, problem: BaseException) -> None:
        raise AssertionError(classifier) from problem

    return classify(error, "Sales.on_paid", Lists(), (), MODULES, broken)


def category(error: BaseException) -> Category | None:
    """Give the category that a module found; `None` = nobody had an opinion, so it counts towards the window (W2)."""
    found = verdict(error)
    return None if found.source == "default" else found.category


def answer(status: int, **headers: str) -> httpx.HTTPStatusError:
    """Raise as httpx does for an answer with this status."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = httpx.Request("GET", "https://carrier.test/")
    with pytest.raises(httpx.HTTPStatusError) as caught:
        httpx.Response(status, headers=named, request=request).raise_for_status()
    return caught.value


def aiohttp_answer(status: int, **headers: str) -> aiohttp.ClientResponseError:
    """Make aiohttp's error for an answer with this status."""
    named = CIMultiDictProxy(CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()}))
    info = aiohttp.RequestInfo(URL("https://carrier.test/"), "GET", named)
    return aiohttp.ClientResponseError(info, (), status=status, headers=named)


def requests_answer(status: int, **headers: str) -> requests.HTTPError:
    """Raise as requests does for an answer with this status."""
    response = requests.Response()
    response.status_code = status
    response.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    with pytest.raises(requests.HTTPError) as caught:
        response.raise_for_status()
    return caught.value


def urllib_answer(status: int, **headers: str) -> urllib.error.HTTPError:
    """Make urllib's error for an answer with this status."""
    message = Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return urllib.error.HTTPError("https://carrier.test/", status, "refused", message, None)


@pytest.mark.parametrize("client", [answer, aiohttp_answer, requests_answer, urllib_answer])
def test_an_answer_is_judged_by_its_status_whoever_received_it(client: Any) -> None:  # noqa: ANN401 - four of them
    """K7: 429, and 503 with Retry-After; all others are nobody's category, never an outage of the connection."""
    assert category(client(429)) is BACKPRESSURE
    assert category(client(503, retry_after="3")) is BACKPRESSURE
    assert [category(client(status)) for status in (400, 404, 500, 502, 503, 504)] == [None] * 6


KEY = cast("Any", SimpleNamespace(host="carrier.test", port=443, is_ssl=True, ssl=True))
POOL = cast("Any", SimpleNamespace(host="carrier.test"))


def named(package: str, *names: str, base: type[Exception] = Exception) -> type[Exception]:
    """Make a class as a package that is not installed has it, below others of it: `named("psycopg", "A", "BofA")`."""
    for name in names:
        base = type(name, (base,), {"__module__": package})
    return base


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (httpx.ConnectError("All connection attempts failed"), SYSTEMIC),
        (httpx.ReadError(""), SYSTEMIC),
        (httpx.ProxyError("502"), SYSTEMIC),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), SYSTEMIC),
        (httpx.RemoteProtocolError("illegal header line"), None),
        (httpx.PoolTimeout(""), BACKPRESSURE),
        (httpx.ConnectTimeout(""), None),
        (httpx.ReadTimeout(""), None),
        (httpx.InvalidURL("odd"), None),
        (aiohttp.ClientConnectorError(KEY, OSError(errno.ECONNREFUSED, "refused")), SYSTEMIC),
        (aiohttp.ServerDisconnectedError(), SYSTEMIC),
        (aiohttp.ClientOSError(errno.EPIPE, "broken pipe"), SYSTEMIC),
        (aiohttp.ServerTimeoutError(), None),
        (aiohttp.ConnectionTimeoutError(), None),
        (aiohttp.ClientPayloadError(), None),
        (requests.ConnectionError(urllib3.exceptions.ProtocolError("Connection aborted.")), SYSTEMIC),
        (requests.ConnectionError(urllib3.exceptions.ReadTimeoutError(POOL, "/", "Read timed out.")), None),
        (requests.exceptions.SSLError("certificate"), SYSTEMIC),
        (requests.ConnectTimeout(), None),
        (requests.ReadTimeout(), None),
        (requests.exceptions.InvalidURL("odd"), None),
        (urllib3.exceptions.NewConnectionError(cast("Any", POOL), "refused"), SYSTEMIC),
        (urllib3.exceptions.ConnectTimeoutError(), None),
        (urllib3.exceptions.EmptyPoolError(POOL, "full"), BACKPRESSURE),
        (urllib.error.URLError(ConnectionRefusedError()), SYSTEMIC),
        (urllib.error.URLError(socket.gaierror(-2, "Name or service not known")), SYSTEMIC),
        (urllib.error.URLError(TimeoutError()), None),
        (urllib.error.URLError("unknown url type"), None),
    ],
)
def test_http_connections_are_systemic_and_timeouts_are_nobodys(error: Exception, expected: Category | None) -> None:
    """K7, H34: no connection is an outage; a timeout counts towards the window; the client's own full pool waits."""
    assert category(error) is expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (redis.exceptions.ConnectionError("Error 111 connecting"), SYSTEMIC),
        (redis.exceptions.BusyLoadingError("loading"), SYSTEMIC),
        (redis.exceptions.AuthenticationError("WRONGPASS"), SYSTEMIC),
        (redis.exceptions.ReadOnlyError("replica"), SYSTEMIC),
        (redis.exceptions.ClusterDownError("down"), SYSTEMIC),
        (redis.exceptions.MasterDownError("down"), SYSTEMIC),
        (redis.exceptions.OutOfMemoryError("maxmemory"), SYSTEMIC),
        (redis.exceptions.ResponseError("MISCONF Redis is configured to save RDB snapshots"), SYSTEMIC),
        (redis.exceptions.ResponseError("BUSY Redis is busy running a script."), SYSTEMIC),
        (redis.exceptions.MaxConnectionsError("Too many connections"), BACKPRESSURE),
        (redis.exceptions.ResponseError("WRONGTYPE Operation against a key holding the wrong kind"), RECOVERABLE),
        (redis.exceptions.DataError("Invalid input of type"), RECOVERABLE),
        (redis.exceptions.WatchError("Watched variable changed."), RECOVERABLE),
        (redis.exceptions.LockError("Unable to acquire lock"), RECOVERABLE),
        (redis.exceptions.TimeoutError("Timeout reading from socket"), None),
        (redis.exceptions.ResponseError("ERR unknown command"), None),
        (named("valkey.exceptions", "ConnectionError")("gone"), SYSTEMIC),
    ],
)
def test_redis_errors_are_known_though_they_are_no_builtin_ones(error: Exception, expected: Category | None) -> None:
    """K7: redis-py has a ConnectionError and a TimeoutError of its own."""
    assert not isinstance(error, (ConnectionError, TimeoutError))
    assert category(error) is expected


RAY: Any = ray.exceptions
"""Untyped."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RAY.RayActorError(), SYSTEMIC),
        (RAY.ActorDiedError(), SYSTEMIC),
        (RAY.ActorUnavailableError("away", b"\x00" * 16), SYSTEMIC),
        (RAY.NodeDiedError("gone"), SYSTEMIC),
        (RAY.LocalRayletDiedError(), SYSTEMIC),
        (RAY.RuntimeEnvSetupError("no"), SYSTEMIC),
        (RAY.PendingCallsLimitExceeded("full"), BACKPRESSURE),
        (RAY.ObjectStoreFullError("full"), BACKPRESSURE),
        (RAY.OutOfMemoryError("killed"), BACKPRESSURE),
        (named("ray.serve.exceptions", "BackPressureError")(), BACKPRESSURE),
        (RAY.WorkerCrashedError(), RECOVERABLE),
        (RAY.GetTimeoutError("late"), None),
        (RAY.TaskCancelledError(), None),
        (RAY.ObjectLostError("00", None, ""), None),
        (RAY.RayTaskError("f", "", redis.exceptions.ConnectionError("gone")), SYSTEMIC),
        (RAY.RayTaskError("f", "", ValueError()).as_instanceof_cause(), None),
        (RAY.RayTaskError("f", "", RAY.ActorDiedError()).as_instanceof_cause(), SYSTEMIC),
    ],
)
def test_ray_tells_a_lost_actor_from_a_full_one_and_from_what_a_task_raised(
    error: BaseException, expected: Category | None
) -> None:
    """K4, K7: a RayTaskError is taken off first."""
    assert category(error) is expected


class DriverError(Exception):
    """An error of a driver, with what such errors have."""

    def __init__(self, text: str = "", **attributes: object) -> None:
        """Set the attributes."""
        super().__init__(text)
        self.__dict__.update(attributes)


def psycopg(name: str, text: str = "", sqlstate: str | None = None, package: str = "psycopg.errors") -> Exception:
    """Make an error as psycopg has them: below its OperationalError, with a SQLSTATE where the server gave one."""
    operational = named("psycopg", "OperationalError", base=DriverError)
    return named(package, name, base=operational)(text, sqlstate=sqlstate)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (psycopg("AdminShutdown", sqlstate="57P01"), SYSTEMIC),
        (psycopg("ProgramLimitExceeded", sqlstate="54000"), RECOVERABLE),
        (psycopg("OperationalError", "server closed the connection unexpectedly"), SYSTEMIC),
        (psycopg("ConnectionTimeout", "connection timeout expired"), None),
        (psycopg("PoolTimeout", "couldn't get a connection after 30.00 sec", package="psycopg_pool.errors"), None),
        (psycopg("TooManyRequests", "the pool has already 9 requests", package="psycopg_pool.errors"), BACKPRESSURE),
        (psycopg("PoolClosed", "the pool is closed", package="psycopg_pool.errors"), SYSTEMIC),
        (named("psycopg2", "InterfaceError")("connection already closed"), SYSTEMIC),
        (named("psycopg2", "InterfaceError")("only protocol 3 supported"), None),
        (named("sqlite3", "OperationalError")("database is locked"), None),
        (DriverError("(psycopg.errors.SerializationFailure)", orig=DriverError(sqlstate="40001")), RECOVERABLE),
        (DriverError("(OperationalError)", orig=DriverError(), connection_invalidated=True), SYSTEMIC),
        (named("sqlalchemy.exc", "TimeoutError")("QueuePool limit of size 5 overflow 10 reached"), BACKPRESSURE),
        (asyncpg.InterfaceError("pool is closing"), SYSTEMIC),
        (asyncpg.TargetServerAttributeNotMatched("no primary"), SYSTEMIC),
        (asyncpg.OutdatedSchemaCacheError("changed"), None),
        (asyncpg.DataError("invalid input for query argument $1"), RECOVERABLE),
    ],
)
def test_other_drivers_of_postgres_count_alike(error: Exception, expected: Category | None) -> None:
    """K7, S61: by SQLSTATE where there is one, also of an error that SQLAlchemy wrapped; else by class and state."""
    assert category(error) is expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (socket.gaierror(-3, "Temporary failure in name resolution"), SYSTEMIC),
        (OSError(errno.EHOSTUNREACH, "No route to host"), SYSTEMIC),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), SYSTEMIC),
        (OSError(errno.ETIMEDOUT, "timed out"), None),
        (OSError(errno.ENOSPC, "no space left on device"), None),
        (SchemaError("older"), SYSTEMIC),
        (ConcurrencyError("at 3", 2, 3), RECOVERABLE),
        (EventTooLargeError("2 MB"), RECOVERABLE),
        (StoreDataError("22P05"), RECOVERABLE),
    ],
)
def test_the_network_and_our_own_store_are_known_without_a_client(error: Exception, expected: Category | None) -> None:
    """K7: never by being an OSError, but by its number; what the log refuses is the aggregate's own."""
    assert category(error) is expected


def test_contention_wants_jitter_wherever_it_is_in_the_chain() -> None:
    """H34, K4: a deadlock that SQLAlchemy wrapped, a watched key, a version conflict, a leaf of a group."""
    wrapped = RuntimeError("could not book")
    wrapped.__cause__ = DriverError(pgcode="40P01")

    contended = (wrapped, redis.exceptions.WatchError(), ConcurrencyError("at 3"), ExceptionGroup("g", [wrapped]))
    assert [wants_jitter(error) for error in contended] == [True] * 4
    assert [wants_jitter(error) for error in (RuntimeError(), httpx.ReadTimeout(""))] == [False] * 2


def test_no_client_is_imported_to_know_its_errors() -> None:
    """K7: who has none of them pays for none of them."""
    clients = ("httpx", "aiohttp", "requests", "urllib3", "redis", "ray", "psycopg")
    program = (
        f"import sys, wow_ray.adapters.failures as f; f.modules(); print([c for c in {clients} if c in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
