"""From an app's frozen spec to one partition's groups: declared to the store, bound to processors, given permits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wow_ray.ports.slots import GroupDeclared
from wow_ray.runtime.group import Group, Handler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wow_ray.handlers.specs import AppSpec, GroupSpec, HandlerSpec
    from wow_ray.ports.slots import GroupRegistered
    from wow_ray.runtime.elsewhere import Elsewhere


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


def reading(spec: AppSpec) -> dict[str, list[str]]:
    """Give what each group reads: its event types with the revision this program knows, by all names it had (H19)."""
    found: dict[str, list[str]] = {}
    for group in spec.groups:
        known = {key: spec.events[key].revision if key in spec.events else 0 for key in group.types}
        read = [f"{aggregate}/{name}@{revision}" for (aggregate, name), revision in known.items()]
        read += [f"{aggregate}/*" for aggregate in group.catch_all]
        found |= dict.fromkeys((group.name, *group.aliases), sorted(read))
    return found


def away(spec: AppSpec, elsewhere: Elsewhere | None) -> frozenset[type[Any]]:
    """Give the processors that are made and called elsewhere; none where there is no elsewhere."""
    return frozenset(group.processor for group in spec.groups if elsewhere is not None and group.isolation == "actor")


def groups_of(
    spec: AppSpec,
    registered: Mapping[str, GroupRegistered],
    processors: Mapping[type[Any], Any],
    concurrency: int,
    elsewhere: Elsewhere | None = None,
) -> list[Group]:
    """Make the groups of one partition, bound to the processors' instances, or to functions elsewhere.

    A group's permits are the most that one of its handlers asks for, else half of the partition's, so that one hung
    downstream never takes them all (H30).
    """
    groups = []
    for group in spec.groups:
        known = registered[group.name]
        names = known.first_names
        handlers = [
            _bound(group, each, names.get(each.subscription, each.subscription), processors, elsewhere)
            for each in group.handlers
        ]
        # Calls elsewhere have as many processes as were asked for, and each waits for its own.
        elsewhere_made = elsewhere is not None and group.isolation == "actor"
        asked = [each.concurrency for each in group.handlers if each.concurrency is not None and not elsewhere_made]
        ceiling = min(concurrency, max(asked)) if asked else max(1, concurrency // 2)
        groups.append(Group(group, known.number, handlers, spec.events, ceiling))
    return groups


def _bound(
    group: GroupSpec,
    spec: HandlerSpec,
    key_name: str,
    processors: Mapping[type[Any], Any],
    elsewhere: Elsewhere | None,
) -> Handler:
    """Bind one handler to what is called."""
    if elsewhere is None or group.isolation != "actor":
        return Handler(spec, getattr(processors[group.processor], spec.function), key_name)
    function = elsewhere.function(group, spec)
    return Handler(spec, function, key_name, function.turn)
