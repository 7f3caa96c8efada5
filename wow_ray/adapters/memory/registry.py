"""The groups the store knows: their numbers, where they start, the names they and their subscriptions had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from wow_ray.adapters.registration import refuse_returning, warn_of_late_aliases
from wow_ray.ports.slots import GroupDeclared, GroupRegistered


@dataclass(slots=True)
class Group:
    """One registered group.

    It starts at `starts` in each slot, and progress that was written at the epoch in `void` or an earlier one does not
    count. `first_names` by present name also has subscriptions that are gone.
    """

    number: int
    name: str
    kind: str
    starts: Mapping[int, int]
    void: Mapping[int, int] = field(default_factory=dict)
    first_names: dict[str, str] = field(default_factory=dict)
    retired: bool = False


@dataclass(frozen=True, slots=True)
class Renamed:
    """A name that rows carry and that has changed: a group's, or a subscription's within its group."""

    what: Literal["group", "subscription"]
    group: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Registration:
    """What one call of `register` answers, and what it renamed, in order."""

    registered: dict[str, GroupRegistered]
    renamed: tuple[Renamed, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """All slots at one moment: where the log ends, and the epoch of the present owner."""

    heads: Mapping[int, int]
    epochs: Mapping[int, int]


class Registry:
    """All groups of one store, also retired ones."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self._every_name: dict[str, Group] = {}

    def register(
        self, declared: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None, cut: Cut
    ) -> Registration:
        """Make the groups known as of one cut of the log; raises `ConfigurationError` before anything has changed."""
        warn_of_late_aliases(declared, self.groups)
        known = {group.name: self._known_as(group) for group in declared}
        back = [name for name, group in known.items() if group is not None and group.retired]
        refuse_returning(back, returning)
        renamed: list[Renamed] = []
        present: dict[str, Group] = {}
        for wanted in declared:
            group = known[wanted.name] or self._new(wanted, cut.heads)
            present[wanted.name] = group
            renamed += self._renamed(group, wanted)
        if returning == "end":
            for name in back:
                present[name].starts, present[name].void = dict(cut.heads), dict(cut.epochs)
        for group in self.groups.values():
            group.retired = group.name not in present
        return Registration({name: _answer(group, declared) for name, group in present.items()}, tuple(renamed))

    def admit(self, declared: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None) -> None:
        """Raise what registering would raise."""
        known = (self._known_as(group) for group in declared)
        refuse_returning([group.name for group in known if group is not None and group.retired], returning)

    def present_name(self, name: str) -> str:
        """Give the name that the group of this name has now; programs of an earlier release use its former ones."""
        group = self._every_name.get(name)
        return name if group is None else group.name

    def _known_as(self, declared: GroupDeclared) -> Group | None:
        """Find the group under its name, else under one it had."""
        for name in (declared.name, *declared.aliases):
            if name in self.groups:
                return self.groups[name]
        return None

    def _new(self, declared: GroupDeclared, heads: Mapping[int, int]) -> Group:
        """Add a group that nobody has ever declared."""
        starts = dict(heads) if declared.start == "end" else {}
        number = 1 + max((group.number for group in self.groups.values()), default=0)
        group = Group(number, declared.name, declared.kind, starts)
        self.groups[declared.name] = self._every_name[declared.name] = group
        return group

    def _renamed(self, group: Group, declared: GroupDeclared) -> list[Renamed]:
        """Give the group and its subscriptions their present names; answers what was called otherwise."""
        renamed: list[Renamed] = []
        if group.name != declared.name:
            renamed.append(Renamed("group", declared.name, group.name, declared.name))
            del self.groups[group.name]
            group.name = declared.name
            self.groups[group.name] = self._every_name[group.name] = group
        for name, aliases in declared.subscriptions:
            if name in group.first_names:
                continue
            old = next((alias for alias in aliases if alias in group.first_names), None)
            if old is None:
                group.first_names[name] = name
            else:
                group.first_names[name] = group.first_names.pop(old)
                renamed.append(Renamed("subscription", group.name, old, name))
        return renamed


def _answer(group: Group, declared: Sequence[GroupDeclared]) -> GroupRegistered:
    """Say how the group is known, with its present subscriptions only."""
    wanted = next(one for one in declared if one.name == group.name)
    return GroupRegistered(
        group.number, group.name, {name: group.first_names[name] for name, _ in wanted.subscriptions}
    )
