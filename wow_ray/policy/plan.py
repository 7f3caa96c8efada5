"""The plan: which partition of which release owns which slots; numbered, so that there is one answer (H18)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wow_ray.errors import SettingsError
from wow_ray.policy.slots import shares


@dataclass(frozen=True, slots=True)
class Plan:
    """One plan. `number` counts from 1 and never repeats; `partitions` gives each one's slots by its lasting name.

    A partition without a name in it owns nothing. `release` names the program that may run the partitions.
    """

    number: int
    release: str
    partitions: Mapping[str, tuple[int, ...]]

    def share(self, partition: str, release: str) -> tuple[int, ...]:
        """Give the slots a partition of this release is to own; empty = none."""
        return self.partitions.get(partition, ()) if release == self.release else ()

    def owners(self) -> dict[int, str]:
        """Give the partition that is to own each slot."""
        return {slot: name for name, share in self.partitions.items() for slot in share}


@dataclass(frozen=True, slots=True)
class Move:
    """Slots that wait to move from one partition to another; `source` is `None` where nobody owns them."""

    source: str | None
    target: str
    slots: tuple[int, ...]


def spread(context: str, partitions: int, slots: int) -> dict[str, tuple[int, ...]]:
    """Give every slot to one of so many partitions, which are named `<context>-0` and so on; never more than slots."""
    return {f"{context}-{place}": share for place, share in enumerate(shares(slots, min(partitions, slots)))}


def respread(
    context: str, present: Mapping[str, tuple[int, ...]], partitions: int, slots: int
) -> dict[str, tuple[int, ...]]:
    """Give every slot to one of so many partitions, with the fewest moves from the present plan.

    The names are `<context>-0` and so on, so a partition that stays keeps its name. Shares differ by one slot at most;
    one more have those who have most, a partition that stays gives its last slots, and whoever has too few takes
    the lowest ones there are. The same question has the same answer. From nothing it is `spread`. Raises
    `SettingsError` for less than one partition.
    """
    names = [f"{context}-{place}" for place in range(min(partitions, slots))]
    if not names:
        raise SettingsError(f"partitions is {partitions}; there is at least one", "WOW-SLOTS")
    kept: dict[str, list[int]] = {}
    taken: set[int] = set()
    for name in names:
        kept[name] = sorted({slot for slot in present.get(name, ()) if 0 <= slot < slots} - taken)
        taken.update(kept[name])
    if not taken:
        return spread(context, partitions, slots)
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


def following(present: Plan | None, release: str, partitions: Mapping[str, tuple[int, ...]]) -> Plan | None:
    """Give the plan to propose after the present one; `None` = the present one says the same already."""
    if present is not None and (present.release, dict(present.partitions)) == (release, dict(partitions)):
        return None
    return Plan(1 if present is None else present.number + 1, release, dict(partitions))
