"""Making groups and subscriptions known: where they start, what they were called, when they return (L5, H20, H28)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wow_ray.adapters.postgres.connect import Session
from wow_ray.adapters.registration import refuse_returning, warn_of_late_aliases
from wow_ray.ports.slots import GroupDeclared, GroupRegistered


@dataclass(frozen=True, slots=True)
class _Known:
    """A group as stored."""

    number: int
    name: str
    retired: bool


async def register(
    session: Session, declared: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None
) -> dict[str, GroupRegistered]:
    """Register within the open transaction; see `SlotStore.register`."""
    await session.fetch("lock_registration")
    stored = await _stored(session)
    warn_of_late_aliases(declared, stored)
    known = {group.name: _known_as(group, stored) for group in declared}
    back = sorted(name for name, group in known.items() if group is not None and group.retired)
    refuse_returning(back, returning)
    numbers = {name: group.number for name, group in known.items() if group is not None}
    for name, group in known.items():
        if group is not None and group.name != name:
            await session.fetch("rename_group", group.number, name, group.name)
    numbers |= await _added(session, [group for group in declared if group.name not in numbers])
    if back and returning == "end":
        await session.fetch("move_starts_to_end", [numbers[name] for name in back])
    await session.fetch("retire_groups", list(numbers.values()))
    return await _with_subscriptions(session, declared, numbers)


async def admit(
    session: Session, declared: Sequence[GroupDeclared], returning: Literal["stored", "end"] | None
) -> None:
    """Raise what registering would raise; see `SlotStore.admit`."""
    stored = await _stored(session)
    known = (_known_as(group, stored) for group in declared)
    refuse_returning([group.name for group in known if group is not None and group.retired], returning)


async def _stored(session: Session) -> dict[str, _Known]:
    """Read all groups there are, by their present names."""
    rows = await session.fetch("known_groups")
    return {row["name"]: _Known(row["number"], row["name"], row["retired"]) for row in rows}


def _known_as(declared: GroupDeclared, stored: dict[str, _Known]) -> _Known | None:
    """Find a group under its name, else under one that it had."""
    return next((stored[name] for name in (declared.name, *declared.aliases) if name in stored), None)


async def _added(session: Session, new: Sequence[GroupDeclared]) -> dict[str, int]:
    """Add groups that nobody has declared before, and fix their starts by one statement over all slots."""
    if not new:
        return {}
    rows = await session.fetch("add_groups", [group.name for group in new], [group.kind for group in new])
    numbers: dict[str, int] = {row["name"]: row["number"] for row in rows}
    await session.fetch("add_starts", [numbers[group.name] for group in new], [group.start == "end" for group in new])
    return numbers


async def _with_subscriptions(
    session: Session, declared: Sequence[GroupDeclared], numbers: dict[str, int]
) -> dict[str, GroupRegistered]:
    """Rename and add subscriptions; answers each group with those it declares."""
    first: dict[int, dict[str, str]] = {number: {} for number in numbers.values()}
    for row in await session.fetch("known_subscriptions", list(numbers.values())):
        first[row["group_number"]][row["name"]] = row["first_name"]
    new: list[tuple[int, str]] = []
    for group in declared:
        number = numbers[group.name]
        names = first[number]
        for name, aliases in group.subscriptions:
            if name in names:
                continue
            old = next((alias for alias in aliases if alias in names), None)
            if old is None:
                names[name] = name
                new.append((number, name))
            else:
                names[name] = names.pop(old)
                await session.fetch("rename_subscription", number, old, name, group.name)
    if new:
        await session.fetch("add_subscriptions", [number for number, _ in new], [name for _, name in new])
    return {
        group.name: GroupRegistered(
            numbers[group.name], group.name, {name: first[numbers[group.name]][name] for name, _ in group.subscriptions}
        )
        for group in declared
    }
