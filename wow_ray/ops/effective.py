"""What a handler runs under, setting by setting, and where each comes from (C1)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from wow_ray.durations import show
from wow_ray.handlers.specs import HandlerSpec
from wow_ray.ops.plain import View
from wow_ray.policy.budget import Backpressure, Budget, ParkedRetries, Systemic

_TIMES = ("backoff", "timeout", "delay", "window", "probe", "cap")


@dataclass(frozen=True, slots=True)
class SettingView(View):
    """One setting by its dotted name, as people read it; `source` is one of `policy.settings_resolution.PLACES`."""

    name: str
    value: str
    source: str


def settings_of(handler: HandlerSpec) -> tuple[SettingView, ...]:
    """List what a handler runs under: budgets, its own limit of calls at once, the lists that classify its errors."""
    found = [
        SettingView(f"{part}.{field.name}", _written(field.name, getattr(limits, field.name)), "")
        for part, limits in _parts(handler)
        for field in fields(limits)
    ]
    limit = "that of the partition" if handler.concurrency is None else str(handler.concurrency)
    found.append(SettingView("concurrency", limit, ""))
    placed = [SettingView(each.name, each.value, handler.provenance.get(each.name, "")) for each in found]
    lists = (("recoverable", handler.lists.recoverable), ("unrecoverable", handler.lists.unrecoverable))
    for name, listed in (*lists, ("systemic", handler.lists.systemic)):
        if listed:
            placed.append(SettingView(name, ", ".join(each.__qualname__ for each in listed), "decorator"))
    return tuple(placed)


def _parts(handler: HandlerSpec) -> tuple[tuple[str, Budget | Backpressure | ParkedRetries | Systemic], ...]:
    """Give the budgets under the names of their settings."""
    return (
        ("retry", handler.budget),
        ("parked", handler.parked),
        ("backpressure", handler.backpressure),
        ("systemic", handler.systemic),
    )


def _written(name: str, value: float) -> str:
    """Write a number, or a length of time as such."""
    return show(value) if name.endswith(_TIMES) else f"{value:g}"
