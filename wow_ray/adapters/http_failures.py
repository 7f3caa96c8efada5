"""What an HTTP client's exceptions mean, by their names and looks: no client is imported (K7).

429 is backpressure, and so is 503 with `Retry-After`: the other side asks for patience. A connection that cannot be
made or breaks is systemic. A timeout is nobody's category and counts towards the window: the class does not tell a slow
answer for one aggregate from a dead host, three aggregates do.
"""

from __future__ import annotations

from typing import Any

from wow_ray.adapters.class_names import is_a, is_class, meaning
from wow_ray.failure import Category
from wow_ray.policy.by_class import Looks
from wow_ray.policy.retry_after import header

TOO_MANY_REQUESTS = 429
UNAVAILABLE = 503

_MEANINGS = {
    "httpx.NetworkError": Category.SYSTEMIC,  # ConnectError, ReadError, WriteError, CloseError
    "httpx.ProxyError": Category.SYSTEMIC,
    "httpx.PoolTimeout": Category.BACKPRESSURE,  # the client's own pool is full
    "httpcore.NetworkError": Category.SYSTEMIC,
    "httpcore.ProxyError": Category.SYSTEMIC,
    "httpcore.PoolTimeout": Category.BACKPRESSURE,
    "aiohttp.ClientConnectionError": Category.SYSTEMIC,  # refused, unresolved, reset, disconnected
    "aiohttp.ServerTimeoutError": None,
    "aiohttp.ClientHttpProxyError": None,
    "requests.ConnectionError": Category.SYSTEMIC,
    "requests.Timeout": None,
    "requests.ConnectTimeout": None,
    "urllib3.NewConnectionError": Category.SYSTEMIC,  # a subclass of a timeout, in name only
    "urllib3.ProxyError": Category.SYSTEMIC,
    "urllib3.ClosedPoolError": Category.SYSTEMIC,
    "urllib3.EmptyPoolError": Category.BACKPRESSURE,
    "urllib.HTTPError": None,
}
_CARRIERS = ("requests.ConnectionError", "urllib3.ProxyError", "urllib3.MaxRetryError", "urllib.URLError")
"""Classes that stand for the error they carry, as `reason` or as their first argument, rather than for themselves."""
_TIMEOUTS = ("urllib3.ReadTimeoutError", "urllib3.ConnectTimeoutError")
_DEPTH = 4
_STATUSES = ("status_code", "status", "code")
_PROTOCOL = ("httpx.RemoteProtocolError", "httpcore.RemoteProtocolError")


def classify_http(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a `Classifier`
    """Classify what an HTTP client raised; the module's classifier for HTTP, `None` = no opinion."""
    response = _attribute(error, "response")
    status = _status(response) or _status(error)
    if status == TOO_MANY_REQUESTS:
        return Category.BACKPRESSURE
    if status == UNAVAILABLE and (_asks_for_patience(response) or _asks_for_patience(error)):
        return Category.BACKPRESSURE
    if is_a(error, *_PROTOCOL):
        return Category.SYSTEMIC if "disconnected" in str(error) else None
    return None if _is_late(error) else _of_connection(error)


def _of_connection(error: BaseException) -> Category | None:
    """Judge by the class; `urllib` has one class for everything and carries what it was."""
    if is_a(error, "urllib.URLError") and not is_a(error, "urllib.HTTPError"):
        return Category.SYSTEMIC if isinstance(_attribute(error, "reason"), OSError) else None
    return meaning(error, _MEANINGS)


def _is_late(error: BaseException) -> bool:
    """Whether a timeout is behind an error of a connection."""
    for _ in range(_DEPTH):
        if isinstance(error, TimeoutError) or (
            is_a(error, *_TIMEOUTS) and not is_a(error, "urllib3.NewConnectionError")
        ):
            return True
        if not is_a(error, *_CARRIERS):
            break
        inner = _attribute(error, "reason") or next(iter(error.args), None)
        if not isinstance(inner, BaseException):
            break
        error = inner
    return False


def _status(thing: object) -> int | None:
    """Give the status that a response or an exception carries, by the names clients have for it."""
    for name in _STATUSES:
        status = _attribute(thing, name)
        if isinstance(status, int) and not isinstance(status, bool):
            return status
    return None


def _asks_for_patience(thing: object) -> bool:
    """Whether there is a `Retry-After` among the headers, or the error names the wait itself."""
    return header(_attribute(thing, "headers")) is not None or _attribute(thing, "retry_after") is not None


LOOKS = Looks(
    frozenset({"response", "headers", "retry_after", "reason", *_STATUSES}),
    lambda cls: is_class(cls, *_PROTOCOL, *_CARRIERS),
)


def _attribute(thing: object, name: str) -> Any:  # noqa: ANN401 - whatever the client put there
    """Give an attribute, or `None` when there is none or it raises."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - a property of somebody else's class
        return None
