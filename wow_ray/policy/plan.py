"""The plan: which partition of which program owns which slots; numbered, so that there is one answer (H18).

A program that is replaced and the one that replaces it never have a partition's name in common: names are what slots
move between, and a process keeps its program for life.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from wow_ray.errors import SettingsError
from wow_ray.policy.slots import shares


@dataclass(frozen=True, slots=True)
class Plan:
    """One plan. `number` counts from 1 and never repeats; `partitions` gives each one's slots by its lasting name.

    A partition without a name in it owns nothing. `release` names the program that may run the partitions; `edition`
    differs when anything of that program does, its files or its settings, also under the same name. `actor` asked for
    the plan, for that `reason`; both may be empty. `still`: the program takes over from one that does not read
    everything that it reads, which is to read nothing more once its successors live (H19).
    """

    number: int
    release: str
    partitions: Mapping[str, tuple[int, ...]]
    edition: str = ""
    actor: str = ""
    reason: str = ""
    still: bool = False

    def is_of(self, release: str, edition: str) -> bool:
        """Tell whether that program may run the partitions."""
        return (release, edition) == (self.release, self.edition)

    def share(self, partition: str, release: str, edition: str = "") -> tuple[int, ...]:
        """Give the slots a partition of this program is to own; empty = none."""
        return self.partitions.get(partition, ()) if self.is_of(release, edition) else ()

    def outcome(self) -> dict[str, object]:
        """Give what the audit says of it."""
        return {"plan": self.number, "release": self.release, "partitions": len(self.partitions)}

    def owners(self) -> dict[int, str]:
        """Give the partition that is to own each slot."""
        return {slot: name for name, share in self.partitions.items() for slot in share}


Reading = Mapping[str, Sequence[str]]
"""What a program reads: event types with the newest revision it knows, by every name that a group of it has had."""


def reads_more(new: Reading, old: Iterable[Reading]) -> bool:
    """Tell whether a group that a running program has would read something more under the new one (H19).

    That is a type that the group passes over now, or a revision that it cannot read.
    """
    return any(not set(new[group]) <= set(reading[group]) for reading in old for group in new.keys() & reading.keys())


@dataclass(frozen=True, slots=True)
class Move:
    """Slots that wait to move from one partition to another; `source` is `None` where nobody owns them."""

    source: str | None
    target: str
    slots: tuple[int, ...]


def spread(context: str, partitions: int, slots: int) -> dict[str, tuple[int, ...]]:
    """Give every slot to one of so many partitions, which are named `<context>-0` and so on; never more than slots."""
    return respread({}, names_of(context, min(partitions, slots)), slots)


def names_of(context: str, partitions: int, kept: Collection[str] = (), taken: Collection[str] = ()) -> list[str]:
    """Name so many partitions `<context>-<number>`: the lowest of `kept`, then the lowest that are not `taken`.

    A partition that stays keeps its name, whatever the names of the others are.
    """
    numbers = sorted(number for number in (_number(context, name) for name in kept) if number is not None)[:partitions]
    free = (number for number in count() if number not in numbers and f"{context}-{number}" not in taken)
    numbers += [next(free) for _ in range(partitions - len(numbers))]
    return [f"{context}-{number}" for number in sorted(numbers)]


def _number(context: str, name: str) -> int | None:
    """Read the number in a partition's name; `None` = it is not of that form."""
    number = name.removeprefix(f"{context}-")
    return int(number) if number != name and number.isascii() and number.isdecimal() else None


def respread(present: Mapping[str, tuple[int, ...]], names: Sequence[str], slots: int) -> dict[str, tuple[int, ...]]:
    """Give every slot to one of these partitions, with the fewest moves from the present plan.

    Shares differ by one slot at most; one more have those who have most, a partition that stays gives its last slots,
    and whoever has too few takes the lowest ones there are. The same question has the same answer. From nothing, each
    gets slots that follow one another. Raises `SettingsError` for no partition.
    """
    names = names[:slots]
    if not names:
        raise SettingsError("partitions is 0; there is at least one", "WOW-SLOTS")
    kept: dict[str, list[int]] = {}
    taken: set[int] = set()
    for name in names:
        kept[name] = sorted({slot for slot in present.get(name, ()) if 0 <= slot < slots} - taken)
        taken.update(kept[name])
    if not taken:
        return dict(zip(names, shares(slots, len(names)), strict=True))
    least, more = divmod(slots, len(names))
    larger = set(sorted(names, key=lambda name: -len(kept[name]))[:more])
    quota = {name: least + (name in larger) for name in names}
    for name in names:
        del kept[name][quota[name] :]
    free = iter(sorted(set(range(slots)).difference(*kept.values())))
    for name in names:
        kept[name] += [next(free) for _ in range(quota[name] - len(kept[name]))]
    return {name: tuple(sorted(share)) for name, share in kept.items()}


def moves(plan: Plan, owned: Mapping[int, str | None]) -> tuple[Move, ...]:
    """List what has to move until everybody owns what the plan names; `owned` gives each slot's present owner."""
    waiting: dict[tuple[str | None, str], list[int]] = {}
    for slot, target in sorted(plan.owners().items()):
        source = owned.get(slot)
        if source != target:
            waiting.setdefault((source, target), []).append(slot)
    return tuple(Move(source, target, tuple(slots)) for (source, target), slots in waiting.items())


def following(
    present: Plan | None,
    release: str,
    partitions: Mapping[str, tuple[int, ...]],
    edition: str = "",
    *,
    actor: str = "",
    reason: str = "",
    still: bool = False,
) -> Plan | None:
    """Give the plan to propose after the present one; `None` = the present one says the same already."""
    if present is not None and present.is_of(release, edition) and dict(present.partitions) == dict(partitions):
        return None
    return Plan(1 if present is None else present.number + 1, release, dict(partitions), edition, actor, reason, still)
