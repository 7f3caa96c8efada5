"""Which groups and handlers there are now, so that a row of one that is gone can say so (P14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from wow_ray.handlers.specs import AppSpec
from wow_ray.ops.effective import SettingView, settings_of
from wow_ray.ops.masking import UNKNOWN
from wow_ray.policy.masking import Masking
from wow_ray.ports.overview import GroupSeen

Missing = Literal["group", "handler"]

_KEPT = (
    "the row is kept and burns no retries; resume it when a program has it again (renamed? give the old name as alias)"
)


@dataclass(frozen=True, slots=True)
class Known:
    """Subscriptions by group.

    `of_app` knows exactly; a store does not tell which handlers of a living group are gone.
    """

    groups: Mapping[str, frozenset[str]]
    wants: Callable[[str, str, str], bool]
    """Whether the group handles or folds events of this (group, aggregate, type)."""
    settings: Mapping[str, tuple[SettingView, ...]] = field(default_factory=dict)
    """What each subscription runs under; empty where only the store was asked."""
    functions: tuple[str, ...] = ()
    """The durable functions, by their present names; empty where only the store was asked."""
    masking: Masking = UNKNOWN
    """What of payloads may be shown; nothing where only the store was asked."""
    context: str = ""
    """The service that all of this is of."""

    @classmethod
    def of_app(cls, spec: AppSpec) -> Known:
        """What this app declares."""
        groups = {group.name: group for group in spec.groups}

        def wants(name: str, aggregate: str, type_name: str) -> bool:
            group = groups.get(name)
            return group is None or aggregate in group.aggregates or group.handler(aggregate, type_name) is not None

        return cls(
            {name: frozenset(each.subscription for each in group.handlers) for name, group in groups.items()},
            wants,
            {each.subscription: settings_of(each) for each in spec.handlers()},
            tuple(each.subscription for each in spec.functions),
            spec.masking,
        )

    @classmethod
    def of_store(cls, groups: Sequence[GroupSeen]) -> Known:
        """What the newest program declared to the store."""
        return cls(
            {group.name: frozenset(group.subscriptions) for group in groups if not group.retired}, lambda *_: True
        )

    def missing(self, group: str, subscription: str) -> Missing | None:
        """Tell what is gone, `None` when everything is there."""
        handlers = self.groups.get(group)
        if handlers is None:
            return "group"
        return None if subscription in handlers else "handler"

    def note(self, group: str, subscription: str) -> str:
        """Say what is gone and what follows from it; empty when everything is there."""
        match self.missing(group, subscription):
            case "group":
                return f"there is no group {group!r} any more; {_KEPT}"
            case "handler":
                return f"there is no handler {subscription!r} any more; {_KEPT}"
            case None:
                return ""
