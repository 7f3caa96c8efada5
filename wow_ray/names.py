"""What things are called: contexts, aggregates, event types, processors, subscriptions, invocation keys.

A name that ends up in the store is stable and plain: it is checked once, where it is declared, and a key made of
names can be taken apart again. An aggregate's id is the user's and may hold anything that Postgres text can (no NUL,
at most 512 bytes).
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from wow_ray.errors import DefinitionError, InvalidEventError

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAME = 128
MAX_ID_BYTES = 512
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*\Z")


def checked_name(value: object, what: str) -> str:
    """Answer `value` when it may be stored as the name of `what`.

    Raises `DefinitionError` otherwise: a name begins with a letter or underscore, goes on with letters, digits, `_`
    and `-`, and has at most 128 characters.
    """
    if not isinstance(value, str) or len(value) > MAX_NAME or _NAME.match(value) is None:
        msg = (
            f"{value!r} is no name for {what}: begin with a letter, go on with letters, digits, '_' or '-', "
            f"{MAX_NAME} characters at most"
        )
        raise DefinitionError(msg, "WOW-NAME")
    return value


def checked_id(value: object) -> str:
    """Answer `value` when it may be an aggregate's id.

    Raises `InvalidEventError` for an empty one, one with a NUL or a lone surrogate, or one over 512 bytes in UTF-8.
    """
    if not isinstance(value, str):
        msg = f"an aggregate's id is a str, not {type(value).__name__}; write str(...) where the ref is made"
        raise InvalidEventError(msg)
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        msg = f"the aggregate id {value!r} holds a lone surrogate and cannot be stored"
        raise InvalidEventError(msg) from error
    if not value or "\x00" in value or size > MAX_ID_BYTES:
        msg = f"the aggregate id {value[:64]!r} is empty, holds a NUL, or has more than {MAX_ID_BYTES} bytes"
        raise InvalidEventError(msg)
    return value


def invocation_key(subscription: str, aggregate_id: str, version: int, sequence: int, prefix: str = "") -> str:
    """Give the key that stays the same at every attempt, retry, resume and replay of one call (L1, H28).

    `subscription` is `Processor.handler` as first registered; `prefix` is the app's `key_prefix`, for apps that share
    a downstream.
    """
    return f"{prefix}{subscription}:{aggregate_id}@{version}:{sequence}"


def nearest(unknown: str, known: Iterable[str]) -> str:
    """Give ` (did you mean 'x'?)` for the closest known name, or an empty text when none is near."""
    matches = get_close_matches(unknown, list(known), n=1, cutoff=0.5)
    return f"; did you mean {matches[0]!r}?" if matches else ""
