"""The shop's processes: its app on Ray, brought up, asked and brought down by the code of `wow-ray run` and `up`."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from examples.shop.demo import stage
from examples.shop.demo.desk import Desk
from examples.shop.demo.postgres import Place
from wow_ray.actors.deployment import Deployment
from wow_ray.actors.fleet import Fleet
from wow_ray.cli.run_site import AppSite
from wow_ray.cluster import open_control, open_operations, settings_of
from wow_ray.handlers.specs import AppSpec
from wow_ray.policy.plan import Plan
from wow_ray.ports.event_log import EventStore

PARTITIONS = 2
"""As many as there are cores in a small machine."""
PATIENCE = 3.0
"""Seconds within which a process that is well answers."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The shop while it works: an operator's desk, the log, and the processes by the names in the plan."""

    spec: AppSpec
    desk: Desk
    store: EventStore
    plan: Plan
    fleet: Fleet

    async def process(self, partition: str) -> int | None:
        """Give the process of a partition that runs; `None` = it does not, just now."""
        try:
            found: Mapping[str, object] | None = await self.fleet.status(partition, PATIENCE)
        except TimeoutError:
            return None
        return int(str(found["pid"])) if found is not None and found["standing"] == "running" else None


@asynccontextmanager
async def working(place: Place) -> AsyncIterator[Crew]:
    """Bring the shop up on the Ray this process is connected to, and drain it at the end of the block.

    A block that ends by an error leaves that to whoever ends Ray.
    """
    from wow_ray.actors.edge import RayFleet  # noqa: PLC0415 - loads Ray, which has to see its environment first

    app, database = stage.app, place.database
    spec = app.resolved(settings_of(app))
    site = AppSite(stage.TARGET, app.context, "demo", place.data_dir)
    fleet = RayFleet(site)
    deployment = Deployment(site, fleet, lambda _: None)
    async with (
        open_control(database) as control,
        open_operations(database, spec) as operations,
        app.connect(database.dsn) as client,
    ):
        plan = await deployment.up(control, PARTITIONS)
        yield Crew(spec, Desk(operations), client.store, plan, fleet)
        await deployment.down(control)
