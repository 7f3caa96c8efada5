"""Rehearsing a start: everything that could go wrong in it, before anything is taken from the program that runs.

The app is loaded by whoever calls this, as in a start. Resources are opened, processors made, the groups shown to the
store, and all is closed again: nothing is registered, no slot is owned and no event is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wow_ray.handlers.resources import Resources
from wow_ray.runtime.assembly import declared

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from wow_ray.handlers.specs import AppSpec
    from wow_ray.ports.stores import ClientStores


async def rehearse(
    spec: AppSpec,
    client: ClientStores,
    returning: Literal["stored", "end"] | None = None,
    overrides: Mapping[Any, Any] | None = None,
) -> None:
    """Raise what a `Service` would raise as it starts, but for taking slots over.

    Processors declared `isolation="actor"` are not made: theirs may take what only their own processes have.
    """
    await client.slots.slot_count()
    await client.slots.admit(declared(spec), returning)
    with spec.attached(client, lambda: None):
        async with Resources(spec.providers, overrides) as resources:
            isolated = {group.processor for group in spec.groups if group.isolation == "actor"}
            for cls in spec.processors():
                if cls not in isolated:
                    await resources.build(cls)
