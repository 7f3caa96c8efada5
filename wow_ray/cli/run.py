"""`wow-ray run APP`: the app on Ray, in the foreground: a local one of its own, or the cluster in `RAY_ADDRESS`."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from wow_ray.actors.connecting import connected, is_local
from wow_ray.actors.deployment import Deployment
from wow_ray.cli.dev import Returning
from wow_ray.cli.home import Home
from wow_ray.cli.loading import load_app
from wow_ray.cli.logs import log_to_stderr
from wow_ray.cli.options import (
    DataDirOption,
    DebugOption,
    JsonOption,
    SettingsOption,
    Target,
    named,
    refuse_two_stores,
)
from wow_ray.cli.run_site import AppSite
from wow_ray.cli.serving import Stop
from wow_ray.cli.shown import document, say, times
from wow_ray.cli.vitals import GroupVitals, Vitals, follow
from wow_ray.cluster import Database, migrated, open_control, open_operations, settings_of
from wow_ray.errors import StoreUnavailableError
from wow_ray.handlers.specs import AppSpec
from wow_ray.ops import GroupView, Operations
from wow_ray.policy.plan import Plan
from wow_ray.ports.plans import Plans
from wow_ray.settings import Settings

FOREGROUND = "run"
"""The release of what runs in the foreground: there is one program at a time."""


@dataclass(frozen=True, slots=True)
class Running:
    """Everything that is run."""

    site: AppSite
    spec: AppSpec
    settings: Settings
    database: Database
    partitions: int
    as_json: bool


def run(
    app: Target = None,
    *,
    data_dir: DataDirOption = None,
    partitions: Annotated[
        int | None, typer.Option("--partitions", min=1, help="In place of the settings' number.")
    ] = None,
    settings: SettingsOption = None,
    returning: Annotated[
        Returning | None, typer.Option("--returning", help="Where a group goes on that the last program did not have.")
    ] = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run the app on Ray until Ctrl-C, which drains it: on a local one, or on the cluster in RAY_ADDRESS.

    Starts a private Postgres unless a DSN is set.
    """
    home = Home()
    log_to_stderr(debug=debug)
    try:
        # What the app prints is no result of this command.
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            target = named(app)
            loaded = load_app(target).app
            found = settings_of(loaded, settings)
            spec = loaded.resolved(found)
            refuse_two_stores(found, data_dir)
            database = home.database(spec.context, found, data_dir)
            folder = None if home.server is None else home.server.state_dir
            site = AppSite(
                target,
                spec.context,
                FOREGROUND,
                folder,
                whole(settings),
                going_on(returning),
                callers_wanted(spec, found),
            )
            plan = Running(site, spec, found, database, partitions or found.partitions, as_json)
            vitals = _run(plan, home, debug=debug)
    finally:
        home.close()
    if as_json:
        document({"ended": "stopped", **({} if vitals is None else vitals.to_json())})


def going_on(returning: Returning | None) -> Literal["stored", "end"] | None:
    """Give where a group goes on that was away, in the runtime's words."""
    return None if returning is None else "stored" if returning is Returning.STORED else "end"


def callers_wanted(spec: AppSpec, settings: Settings) -> int:
    """Give how many actors run durable calls and nothing else: none where there are no functions to call."""
    return settings.calls.actors if spec.functions else 0


def whole(path: Path | None) -> Path | None:
    """Give a path that means the same in another process."""
    return None if path is None else path.resolve()


def _run(plan: Running, home: Home, *, debug: bool) -> Vitals | None:
    """Start Ray, serve."""
    place = "the postgres_dsn" if home.server is None else f"a private Postgres in {home.server.state_dir}"
    say(f"{plan.spec.context} on {place}; {'starting Ray' if is_local() else 'connecting to Ray'}")
    with connected(home.folder, quiet=not debug):
        return asyncio.run(_served(plan))


async def _served(plan: Running) -> Vitals | None:
    """Migrate, bring everything up, show how it goes until somebody asks to stop, and drain."""
    from wow_ray.actors.edge import RayFleet  # noqa: PLC0415 - loads Ray, which the other commands do without

    stop = Stop()
    deployment = Deployment(plan.site, RayFleet(plan.site, plan.settings.partition_cpus), say, math.inf)
    vitals = None
    if applied := await migrated(plan.database, plan.settings):
        say(f"migrated: {', '.join(applied)}")
    async with open_control(plan.database) as control, open_operations(plan.database, plan.spec) as operations:
        try:
            present = await deployment.up(control, plan.partitions)
            stop.started()
            names = ", ".join(group.name for group in plan.spec.groups) or "no handlers"
            say(f"running {times(len(present.partitions), 'partition')}: {names}")
            pulse = Pulse(deployment, control.plans, present, operations)
            watching = asyncio.ensure_future(follow(pulse, as_json=plan.as_json))
            await _until(stop, watching)
            vitals = await pulse.take()
            say("draining; once more Ctrl-C stops at once")
            stop.bound()
        except asyncio.CancelledError:
            if not stop.asked.is_set():
                raise
            say("stopped before it had started")
        finally:
            await _down(deployment)
    return vitals


async def _until(stop: Stop, watching: asyncio.Future[None]) -> None:
    """Wait for a request to stop; raises what the watching raised."""
    waited: list[asyncio.Future[Any]] = [asyncio.ensure_future(stop.asked.wait()), watching]
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for future in waited:
            future.cancel()
        await asyncio.gather(*waited, return_exceptions=True)
    if not watching.cancelled():
        watching.result()


async def _down(deployment: Deployment) -> None:
    """Drain, also when this task is asked to end meanwhile: the signals see to a bound.

    The plan stays: another machine that runs the same may be waiting for the slots.
    """
    ending = asyncio.ensure_future(deployment.down(None))
    while not ending.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(ending)
    ending.result()


class Pulse:
    """Takes the vitals of an app on Ray; keeps what the store said last while it is away."""

    def __init__(self, deployment: Deployment, plans: Plans, plan: Plan, operations: Operations) -> None:
        """Watch the partitions of this plan, and of those that follow it."""
        self._deployment = deployment
        self._plans = plans
        self._plan = plan
        self._operations = operations
        self._stored: dict[str, GroupView] = {}

    async def take(self) -> Vitals:
        """Look now."""
        troubles: list[str] = []
        try:
            self._stored = {group.group: group for group in await self._operations.subscriptions()}
            self._plan = await self._plans.present() or self._plan
        except StoreUnavailableError as error:
            troubles.append(error.message)
        found = await self._deployment.standing(self._plan)
        troubles += [f"{name} is {_said(each)}" for name, each in found.items() if _said(each)]
        parts = [each["groups"] for each in found.values() if each is not None]
        groups = tuple(self._group(name, parts) for name in self._stored)
        return Vitals(
            handled=sum(group.handled for group in groups),
            lag=sum(group.lag for group in groups),
            parked=sum(group.parked for group in groups),
            groups=groups,
            troubles=tuple(troubles),
        )

    def _group(self, name: str, parts: list[Mapping[str, Any]]) -> GroupVitals:
        """Sum a group up over the partitions."""
        mine = [part[name] for part in parts if name in part]
        stored = self._stored[name]
        return GroupVitals(
            group=name,
            handled=sum(part["handled"] for part in mine),
            lag=stored.lag + stored.unfinished,
            parked=stored.parked,
            paused=_why_paused(stored) if any(part["paused"] for part in mine) else "",
        )


def _why_paused(stored: GroupView) -> str:
    """Give what the partitions say of a pause, as far as it is known by now."""
    pause = None if stored.live is None else stored.live.pause
    return "its surroundings fail" if pause is None else pause.error


def _said(standing: Mapping[str, Any] | None) -> str:
    """Write why a partition does not run; empty for one that does."""
    if standing is None:
        return "away"
    return "" if standing["standing"] == "running" else f"{standing['standing']} {standing['trouble']}".strip()
