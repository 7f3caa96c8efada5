"""From what a producer appends to what a log row holds, refusing what a database would refuse."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from wow_ray.errors import EventTooLargeError, InvalidEventError
from wow_ray.events import NO_SCOPE, AggregateRef, NewCommit, Scope, event_spec
from wow_ray.names import checked_id

# An escaped NUL: the backslash before the `u` is not itself escaped.
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    """One event as text, and its size in bytes."""

    type: str
    revision: int
    payload: str
    size: int


@dataclass(frozen=True, slots=True)
class EncodedCommit:
    """A commit that the log can take: everything that could be refused for itself has been checked."""

    ref: AggregateRef
    events: tuple[EncodedEvent, ...]
    expected_version: int | None
    scope: Scope
    commit_id: str | None
    headers: str | None


def encoded_commit(context: str, commit: NewCommit, max_event_bytes: int) -> EncodedCommit:
    """Check and encode one commit; raises `InvalidEventError` or `EventTooLargeError`."""
    ref = own_ref(context, commit.ref)
    checked_id(ref.id)
    if not commit.events:
        msg = f"a commit to {ref} without events; append at least one"
        raise InvalidEventError(msg)
    scope = commit.scope or NO_SCOPE
    for what, text in (("tenant_id", scope.tenant_id), ("owner_id", scope.owner_id), ("commit_id", commit.commit_id)):
        if text is not None:
            _checked_text(text, f"the {what} of a commit to {ref}")
    return EncodedCommit(
        ref=ref,
        events=tuple(_encoded_event(ref, body, max_event_bytes) for body in commit.events),
        expected_version=commit.expected_version,
        scope=scope,
        commit_id=commit.commit_id,
        headers=_encoded_headers(ref, commit.headers),
    )


def own_ref(context: str, ref: AggregateRef) -> AggregateRef:
    """Fill in the context of the store; raises `InvalidEventError` for a reference that belongs to another one."""
    if not ref.context:
        return replace(ref, context=context)
    if ref.context != context:
        msg = f"{ref} belongs to the context {ref.context!r}, and this is the store of {context!r}"
        raise InvalidEventError(msg)
    return ref


def _encoded_event(ref: AggregateRef, body: BaseModel, max_event_bytes: int) -> EncodedEvent:
    """Encode one body as its class was declared."""
    spec = event_spec(type(body))
    if spec is None or spec.aggregate != ref.aggregate:
        msg = f"{type(body).__qualname__} is no event of {ref.aggregate!r}; declare it with @{ref.aggregate}.event(...)"
        raise InvalidEventError(msg)
    try:
        payload = body.model_dump_json()
        size = len(payload.encode())
    except (PydanticSerializationError, UnicodeEncodeError) as error:
        msg = f"{spec.name} of {ref} cannot be written as JSON: {error}"
        raise InvalidEventError(msg) from error
    if size > max_event_bytes:
        msg = f"{spec.name} of {ref} has {size} bytes; the log takes {max_event_bytes}. Keep the bulk elsewhere"
        raise EventTooLargeError(msg)
    if "\\u0000" in payload and _ESCAPED_NUL.search(payload):
        msg = f"{spec.name} of {ref} holds a NUL character, which the database does not take"
        raise InvalidEventError(msg)
    if _lost_number(body, payload):
        msg = f"{spec.name} of {ref} holds NaN or an infinity, which JSON does not know"
        raise InvalidEventError(msg)
    return EncodedEvent(spec.name, spec.revision, payload, size)


def _lost_number(body: BaseModel, payload: str) -> bool:
    """Tell whether a NaN or an infinity became `null`, or a word that is no JSON.

    Looks closer only at the few bodies in which that may have happened.
    """
    if "NaN" in payload or "Infinity" in payload:
        try:
            json.loads(payload, parse_constant=_refuse_constant)
        except ValueError:
            return True
    return "null" in payload and _holds_no_number(body.model_dump())


def _refuse_constant(name: str) -> NoReturn:
    """Refuse what Python's reader would let pass."""
    raise ValueError(name)


def _holds_no_number(value: Any) -> bool:  # noqa: ANN401 - any part of a body
    """Tell whether there is a float in it that is not finite."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_holds_no_number, value.values()))
    return isinstance(value, (list, tuple, set, frozenset)) and any(map(_holds_no_number, value))


def _encoded_headers(ref: AggregateRef, headers: Mapping[str, str] | None) -> str | None:
    """Encode the headers, texts to texts; none at all are `None`."""
    if not headers:
        return None
    for name, value in headers.items():
        _checked_text(name, f"a header's name in a commit to {ref}")
        _checked_text(value, f"the header {name!r} of a commit to {ref}")
    return json.dumps(dict(headers), ensure_ascii=False)


def _checked_text(text: object, what: str) -> None:
    """Refuse what is no text for the database."""
    if not isinstance(text, str) or not storable(text):
        msg = f"{what} is {text!r}; it takes a text without NUL and lone surrogates"
        raise InvalidEventError(msg)


def storable(text: str) -> bool:
    """Tell whether a database in UTF-8 takes the text: no NUL, no lone surrogate."""
    if text.isascii():
        return "\x00" not in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


def unstorable(texts: Iterable[str | None]) -> str | None:
    """Give the first text that cannot be stored, or `None` when all can."""
    return next((text for text in texts if text is not None and not storable(text)), None)
