"""How the parts of a partition that make and settle attempts are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wow_ray.runtime.attempts import Attempts
from wow_ray.runtime.effectively_once import EffectivelyOnce
from wow_ray.runtime.lease_gate import LeaseGate
from wow_ray.runtime.outcomes import Settling
from wow_ray.runtime.rests import Rests
from wow_ray.runtime.rush import Rush
from wow_ray.runtime.states import States

if TYPE_CHECKING:
    from wow_ray.handlers.specs import AppSpec
    from wow_ray.ports.clock import Clock, Dice
    from wow_ray.runtime.calls import Calls
    from wow_ray.runtime.partition import Partition
    from wow_ray.runtime.verdicts import Verdicts


def settling_of(partition: Partition, clock: Clock, dice: Dice, verdicts: Verdicts) -> Settling:
    """Make what carries out the ends of attempts, of a partition's other parts."""
    return Settling(
        partition=partition,
        clock=clock,
        dice=dice,
        verdicts=verdicts,
        timers=partition.timers,
        workers=partition.workers,
        parking=partition.parking,
        unparking=partition.unparking,
        drains=partition.drains,
        outages=partition.outages,
        lease=LeaseGate(partition.stores.lease, clock, partition.workers),
        rests=Rests(clock, partition.workers),
    )


def attempts_of(partition: Partition, spec: AppSpec, clock: Clock, calls: Calls) -> Attempts:
    """Make what runs the lanes, of a partition's other parts."""
    stores = partition.stores
    return Attempts(
        context=spec.context,
        key_prefix=spec.key_prefix,
        clock=clock,
        lease=stores.lease,
        states=States(stores.drains, spec.states),
        calls=calls,
        once=EffectivelyOnce(stores.effects, calls, clock, partition.holdings.fenced),
        outcomes=partition.settling,
        workers=partition.workers,
        rush=Rush(
            context=spec.context,
            key_prefix=spec.key_prefix,
            clock=clock,
            lease=stores.lease,
            calls=calls,
            workers=partition.workers,
        ),
    )
