"""From an app's frozen spec to the groups that one partition runs.

Declared to the store, bound to processors, given permits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wow_ray.ports.slots import GroupDeclared
from wow_ray.runtime.group import Group, Handler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wow_ray.handlers.specs import AppSpec
    from wow_ray.ports.slots import GroupRegistered


def declared(spec: AppSpec) -> list[GroupDeclared]:
    """Give the groups as the store registers them (L5)."""
    return [
        GroupDeclared(
            group.name,
            group.kind,
            group.start,
            group.aliases,
            tuple((handler.subscription, handler.aliases) for handler in group.handlers),
        )
        for group in spec.groups
    ]


def groups_of(
    spec: AppSpec, registered: Mapping[str, GroupRegistered], processors: Mapping[type[Any], Any], concurrency: int
) -> list[Group]:
    """Make the groups of one partition, bound to the processors' instances.

    A group's permits are the most that one of its handlers asks for, else half of the partition's, so that one hung
    downstream never takes them all (H30).
    """
    groups = []
    for group in spec.groups:
        known = registered[group.name]
        instance = processors[group.processor]
        handlers = [
            Handler(each, getattr(instance, each.function), known.first_names.get(each.subscription, each.subscription))
            for each in group.handlers
        ]
        asked = [each.concurrency for each in group.handlers if each.concurrency is not None]
        ceiling = min(concurrency, max(asked)) if asked else max(1, concurrency // 2)
        groups.append(Group(group, known.number, handlers, spec.events, ceiling))
    return groups
