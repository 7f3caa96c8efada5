"""What the host sets for single durable functions, in place of what their declarations say (C1, S79)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from wow_ray.durations import show
from wow_ray.errors import SettingsError
from wow_ray.names import nearest
from wow_ray.retryable.durable import LONGEST_DELAY
from wow_ray.retryable.worker_side import Declared


def refuse_unknown(given: Collection[str], names: Mapping[str, str]) -> None:
    """Raise `SettingsError` for a key that is no function's; `names` leads from every name to the present one.

    Also where two keys are one function's, by its present and a former name.
    """
    seen: dict[str, str] = {}
    for key in given:
        name = names.get(key)
        if name is None:
            raise SettingsError(
                f'functions."{key}": no durable function is called {key!r}{nearest(key, names)}', "WOW-C4"
            )
        other = seen.setdefault(name, key)
        if other != key:
            raise SettingsError(f'functions."{other}" and functions."{key}" are one function; keep one', "WOW-C4")


def hosted(declared: Declared, given: Mapping[str, Any]) -> Declared:
    """Give the declaration as the host wants it; raises `SettingsError` for delays that contradict each other."""
    rest = dict(given)
    concurrency = rest.pop("concurrency", declared.concurrency)
    durable = replace(declared.durable, **rest)
    if "max_delay" not in rest and "initial_delay" in rest:
        durable = replace(durable, max_delay=max(durable.max_delay, durable.initial_delay))
    place = f'functions."{declared.name}"'
    if durable.initial_delay > durable.max_delay:
        text = f"initial_delay ({show(durable.initial_delay)}) is above max_delay ({show(durable.max_delay)})"
        raise SettingsError(f"{place}: {text}", "WOW-C6")
    if durable.max_delay > LONGEST_DELAY:
        raise SettingsError(f"{place}: max_delay is {show(durable.max_delay)}; a delay is at most 366 days", "WOW-B6")
    return replace(declared, concurrency=concurrency, durable=durable)
