"""What an HTTP client's exceptions mean, by their looks: no client is imported.

429 is backpressure, and so is 503 with `Retry-After`: the other side asks for patience (K7). A connection that was
refused is a `ConnectionError` or wraps one, and is judged as that.
"""

from __future__ import annotations

from typing import Any

from wow_ray.failure import Category

TOO_MANY_REQUESTS = 429
UNAVAILABLE = 503


def classify_http(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a `Classifier`
    """Classify an exception that carries an HTTP status; the module's classifier for HTTP, `None` = no opinion."""
    response = _attribute(error, "response")
    status = _status(response) or _status(error)
    if status == TOO_MANY_REQUESTS:
        return Category.BACKPRESSURE
    if status == UNAVAILABLE and (_asks_for_patience(response) or _asks_for_patience(error)):
        return Category.BACKPRESSURE
    return None


def _status(thing: object) -> int | None:
    """Give the status that a response or an exception carries, by the names clients have for it."""
    for name in ("status_code", "status", "code"):
        status = _attribute(thing, name)
        if isinstance(status, int) and not isinstance(status, bool):
            return status
    return None


def _asks_for_patience(thing: object) -> bool:
    """Whether there is a `Retry-After` among the headers."""
    headers = _attribute(thing, "headers")
    try:
        return headers is not None and any(str(name).lower() == "retry-after" for name in headers)
    except TypeError:
        return False


def _attribute(thing: object, name: str) -> Any:  # noqa: ANN401 - whatever the client put there
    """Give an attribute, or `None` when there is none or it raises."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - a property of somebody else's class
        return None
