"""`wow-ray up` and `wow-ray down`: the app on a cluster, without a program that has to stay."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import signal
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from wow_ray.actors.connecting import connected, files_of_program, is_local
from wow_ray.actors.deployment import Deployment
from wow_ray.actors.fleet import callers_of
from wow_ray.cli.dev import Returning
from wow_ray.cli.loading import load_app
from wow_ray.cli.logs import log_to_stderr
from wow_ray.cli.options import (
    ContextOption,
    DebugOption,
    JsonOption,
    SettingsOption,
    Target,
    Where,
    named,
)
from wow_ray.cli.run import callers_wanted, going_on, whole
from wow_ray.cli.run_site import AppSite
from wow_ray.cli.shown import console, document, say, times
from wow_ray.cluster import Database, database_of, migrated, open_control, settings_of
from wow_ray.errors import NotConnectedError, SettingsError
from wow_ray.policy.plan import Plan
from wow_ray.settings import Settings

MOST_NAME = 100
"""Characters of a release's name at most: it stands in every report."""
NOT_OF_PROGRAM = {"postgres_dsn", "postgres_dsn_file", "redis_url", "ops", "partitions"}
"""Settings that make no other program: addresses, what only consoles read, and what a plan says."""


def up(
    app: Target = None,
    *,
    release: Annotated[str, typer.Option("--release", metavar="R", help="The name of this program.")] = "unnamed",
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
    """Bring the app up on the cluster in RAY_ADDRESS, and leave it there. Needs a Postgres of yours.

    Repeated it changes what differs. Another release, or the same with other files or settings, takes over from the one
    that runs without a stop; if it does not start, that one runs on.
    """
    log_to_stderr(debug=debug)
    _refuse_no_cluster("up")
    target = named(app)
    loaded = load_app(target).app
    found = settings_of(loaded, settings)
    spec = loaded.resolved(found)
    if found.dsn() is None:
        raise SettingsError(
            "`up` outlives this program and needs a Postgres of yours: set WOW_RAY_POSTGRES_DSN or "
            "WOW_RAY_POSTGRES_DSN_FILE, here and on the nodes",
            "WOW-USAGE",
        )
    site = AppSite(
        target,
        spec.context,
        checked_release(release),
        None,
        as_on_nodes(settings),
        going_on(returning),
        callers_wanted(spec, found),
    )
    with _results_only(as_json), connected(Path.cwd(), quiet=not debug, lasting=True):
        stated = settings_of(loaded, settings, environ={})
        site = replace(site, edition=edition_of(site, stated, files_of_program()))
        try:
            plan = asyncio.run(
                _up(site, found, database_of(found, spec.context), partitions or found.partitions, as_json)
            )
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None  # SIGTERM ends it as Ctrl-C does
    if as_json:
        told = {"plan": plan.number, "release": plan.release, "partitions": list(plan.partitions)}
        document(told | {"callers": sorted(callers_of(site.callers))})
    else:
        beside = f" and {times(site.callers, 'caller')}" if site.callers else ""
        parts = times(len(plan.partitions), "partition")
        console().print(f"{spec.context} is up: {parts}{beside} of release {plan.release}")


def checked_release(release: str) -> str:
    """Answer the name of a release; raises `SettingsError` unless people can read it in one line."""
    if not release.isprintable() or not 1 <= len(release) <= MOST_NAME:
        raise SettingsError(f"--release is {release!r}; it is 1 to {MOST_NAME} characters in one line", "WOW-USAGE")
    return release


def as_on_nodes(settings: Path | None) -> Path | None:
    """Give the settings file as a partition's process finds it: those below the app's folder travel with it."""
    full = whole(settings)
    return full.relative_to(Path.cwd()) if full is not None and full.is_relative_to(Path.cwd()) else full


def edition_of(site: AppSite, settings: Settings, files: str) -> str:
    """Name a program by everything that travels with it: when any of it differs, the running one is rolled over.

    `settings` are those of the code and the file; what the environment says is each node's own.
    """
    said = settings.model_dump(mode="json", exclude=NOT_OF_PROGRAM)
    parts = [site.target, str(site.settings), files, json.dumps(said, sort_keys=True)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


async def _up(site: AppSite, settings: Settings, database: Database, partitions: int, quiet: bool) -> Plan:  # noqa: FBT001 - the last step of one command
    """Migrate, and have it run; asked to stop before that, it ends what it has started for nothing."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - `asyncio.run` makes one
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    tell = (lambda _: None) if quiet else say
    if applied := await migrated(database, settings):
        tell(f"migrated: {', '.join(applied)}")
    async with open_control(database) as control:
        return await _deployment(site, settings.partition_cpus, quiet=quiet).up(control, partitions)


def down(
    app: Target = None,
    *,
    context: ContextOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Drain the app on the cluster in RAY_ADDRESS and end its actors. Everything stored stays."""
    log_to_stderr(debug=debug)
    _refuse_no_cluster("down")
    found = Where(app, context, None, settings).found()
    site = AppSite("", found.context, "", None, None, None)
    with _results_only(as_json), connected(Path.cwd(), quiet=not debug):
        asyncio.run(_down(site, found.database, quiet=as_json))
    if as_json:
        document({"context": found.context, "down": True})
    else:
        console().print(f"{found.context} is down")


async def _down(site: AppSite, database: Database, *, quiet: bool) -> None:
    async with open_control(database) as control:
        await _deployment(site, quiet=quiet).down(control)


def _deployment(site: AppSite, cpus: float = 0.01, *, quiet: bool) -> Deployment:
    from wow_ray.actors.edge import RayFleet  # noqa: PLC0415 - loads Ray, which the other commands do without

    return Deployment(site, RayFleet(site, cpus), (lambda _: None) if quiet else say)


def _results_only(as_json: bool) -> AbstractContextManager[object]:  # noqa: FBT001 - the option as it is
    """Keep what Ray and the app print off standard output where one document is to stand there."""
    return contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()


def _refuse_no_cluster(command: str) -> None:
    """Refuse a Ray of one's own: it would end with this program."""
    if is_local():
        raise NotConnectedError(
            f"`{command}` needs a cluster that stays: set RAY_ADDRESS (`auto` on a node of it), or submit it, as in "
            f"`ray job submit --working-dir . -- wow-ray {command} ...`; for one machine there is `wow-ray run`"
        )
