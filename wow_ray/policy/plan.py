"""The plan: which partition of which release owns which slots; numbered, so that there is one answer (H18)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


def spread(context: str, partitions: int, slots: int) -> dict[str, tuple[int, ...]]:
    """Give every slot to one of so many partitions, which are named `<context>-0` and so on; never more than slots."""
    return {f"{context}-{place}": share for place, share in enumerate(shares(slots, min(partitions, slots)))}


def following(present: Plan | None, release: str, partitions: Mapping[str, tuple[int, ...]]) -> Plan | None:
    """Give the plan to propose after the present one; `None` = the present one says the same already."""
    if present is not None and (present.release, dict(present.partitions)) == (release, dict(partitions)):
        return None
    return Plan(1 if present is None else present.number + 1, release, dict(partitions))
