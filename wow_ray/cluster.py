"""The composition root: the only module that picks adapters and puts a program together on them."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wow_ray.actors.site import Control
from wow_ray.adapters.bus import open_wakes
from wow_ray.adapters.calls_store import open_stores
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.embedded import EmbeddedPostgres, EmbeddedPostgresError, default_state_dir, find_server
from wow_ray.adapters.embedded.handover import hand_over, take_over
from wow_ray.adapters.failures import modules, wants_jitter
from wow_ray.adapters.ids import time_ordered_ids
from wow_ray.adapters.postgres import Database, check, migrate, open_partition_stores, owner_here
from wow_ray.adapters.postgres.overview import open_overview
from wow_ray.adapters.postgres.plans import open_plans
from wow_ray.adapters.postgres.refusals import refusals
from wow_ray.app import App
from wow_ray.errors import EmbeddedServerError, NotConnectedError
from wow_ray.handlers.specs import AppSpec
from wow_ray.housekeeping import housekeeping, traced
from wow_ray.ops import Known, Operations
from wow_ray.ports.stores import ClientStores
from wow_ray.ports.wakes import Heads, Wakes
from wow_ray.redaction import also_hide
from wow_ray.runtime.call_service import CallService
from wow_ray.runtime.durable_calls import CallPace
from wow_ray.runtime.elsewhere import Elsewhere
from wow_ray.runtime.pace import Pace
from wow_ray.runtime.service import Service
from wow_ray.settings import Settings, load, settings_file

__all__ = [
    "Database",
    "EmbeddedPostgres",
    "SystemClock",
    "at_hand",
    "checked",
    "connect",
    "database_of",
    "hand_over",
    "migrated",
    "modules",
    "open_calls",
    "open_control",
    "open_operations",
    "open_service",
    "settings_of",
    "start_embedded",
    "state_dir_of",
    "take_over",
    "time_ordered_ids",
]


@dataclass(frozen=True, slots=True)
class _Running:
    """The store of a service that runs in this process, and the bus that its loop may tell; `None` = it has none."""

    database: Database
    wakes: Wakes | None
    loop: asyncio.AbstractEventLoop | None


_running: dict[str, _Running] = {}
"""By context: handlers of a service connect to its own store."""


def settings_of(app: App, file: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read an app's settings, in every program alike: code, `wow-ray.toml` beside it, environment (C4, S79).

    From then on this process hides what they say is to be hidden (P4).
    """
    settings = load(app.settings, settings_file(file, app.folder), os.environ if environ is None else environ)
    also_hide(settings.redaction.keys, settings.redaction.prefixes)
    return settings


def state_dir_of(context: str, data_dir: Path | None = None) -> Path:
    """Give the folder of a context's private server."""
    return data_dir if data_dir is not None else default_state_dir(context)


def database_of(settings: Settings, context: str, data_dir: Path | None = None, *, dsn: str | None = None) -> Database:
    """Find a context's store: at `dsn`, else where the settings say, else the private server that somebody runs.

    Nothing is connected to. Raises `NotConnectedError` naming both ways when there is none of these.
    """
    folder = state_dir_of(context, data_dir)
    found = dsn if dsn is not None else settings.dsn() or find_server(folder)
    if found is None:
        raise NotConnectedError(
            f"no store of {context!r} was found: run `wow-ray dev`, which starts a private Postgres (none runs in "
            f"{folder}), or set WOW_RAY_POSTGRES_DSN or WOW_RAY_POSTGRES_DSN_FILE to a server of yours"
        )
    return Database(found, context, settings.postgres_schema, settings.pgbouncer, calls_url=settings.redis_of_calls())


def start_embedded(context: str, data_dir: Path | None = None) -> EmbeddedPostgres:
    """Start a context's private server and own it; blocks for some seconds. Raises `EmbeddedServerError`."""
    try:
        return EmbeddedPostgres(state_dir_of(context, data_dir)).start()
    except EmbeddedPostgresError as error:
        raise EmbeddedServerError(str(error)) from error


async def checked(database: Database) -> Database:
    """Answer the database with its number of slots, when it can be reached and its schema fits this program.

    Raises `SchemaError` with the command to run, `StoreUnavailableError`, `SettingsError` for an address that is none.
    """
    with refusals():
        return await check(database)


async def migrated(database: Database, settings: Settings) -> list[str]:
    """Bring the schema up to date; answers the names of the migrations applied, none when it was."""
    slots = settings.slots if "slots" in settings.model_fields_set else None
    with refusals():
        return await migrate(database.dsn, database.schema, slots, database.context)


@asynccontextmanager
async def open_service(
    spec: AppSpec,
    settings: Settings,
    database: Database,
    *,
    partitions: int | Mapping[str, Sequence[int]] | None = None,
    sweeps: bool = True,
    returning: Literal["stored", "end"] | None = None,
    overrides: Mapping[Any, Any] | None = None,
    elsewhere: Elsewhere | None = None,
    calls: bool = True,
    release: str = "",
) -> AsyncIterator[Service]:
    """Run an app on Postgres, in this process, until the block ends; then it is drained.

    `partitions` over what the settings say, or each one's slots by its name; `returning` says where a group goes on
    that was away (L5); `sweeps`, `elsewhere` and `release` as in `Service`, and who sweeps keeps the house; with
    `calls` durable calls are run here too. Raises what `checked` and `Service` raise, before anything is handled.
    """
    database = await checked(database)
    clock = SystemClock()
    async with (
        open_wakes(settings, database, clock) as wakes,
        open_stores(database, clock, wakes) as client,
    ):
        service = Service(
            spec,
            lambda: open_partition_stores(database, clock),
            client,
            owner=owner_here,
            clock=clock,
            dice=random.Random().random,  # noqa: S311 - jitter is no secret
            ids=time_ordered_ids(clock),
            modules=modules(),
            wants_jitter=wants_jitter,
            partitions=partitions or settings.partitions,
            sweeps=sweeps,
            elsewhere=elsewhere,
            pace=Pace(
                concurrency=settings.concurrency,
                commit_interval=settings.commit.interval,
                commit_events=settings.commit.events,
            ),
            overrides=overrides,
            returning=returning,
            calls=CallPace(concurrency=settings.concurrency) if calls else None,
            release=release,
            tracing=traced(settings),
        )
        with at_hand(database, wakes):
            async with service, AsyncExitStack() as stack:
                if sweeps:
                    overview = await stack.enter_async_context(open_overview(database))
                    await stack.enter_async_context(housekeeping(spec.context, settings, client, overview, clock))
                if wakes is not None:
                    await stack.enter_async_context(wakes.listening(lambda heads: _heard(service, heads)))
                yield service


@asynccontextmanager
async def open_calls(spec: AppSpec, settings: Settings, database: Database, name: str) -> AsyncIterator[CallService]:
    """Run an app's durable calls in this process, and nothing else of it, until the block ends; then it is drained.

    `name` is the lasting one under which it is shown. Raises what `checked` and `CallService` raise.
    """
    database = await checked(database)
    clock = SystemClock()
    async with (
        open_wakes(settings, database, clock) as wakes,
        open_stores(database, clock, wakes) as client,
        open_partition_stores(database, clock) as stores,
    ):
        service = CallService(
            spec,
            client,
            stores.lease,
            stores.reports,
            owner=owner_here(name),
            clock=clock,
            dice=random.Random().random,  # noqa: S311 - jitter is no secret
            modules=modules(),
            wants_jitter=wants_jitter,
            pace=CallPace(concurrency=settings.concurrency),
        )
        with at_hand(database, wakes):
            async with service:
                yield service


@asynccontextmanager
async def open_operations(database: Database, spec: AppSpec | None = None) -> AsyncIterator[Operations]:
    """Open what an operator works with; `spec` is the operator's app, if known. Raises what `checked` raises."""
    database = await checked(database)
    clock = SystemClock()
    async with (
        open_stores(database, clock) as client,
        open_overview(database) as overview,
        open_plans(database) as plans,
    ):
        yield Operations(
            database.context,
            client=client,
            overview=overview,
            clock=clock,
            new_id=time_ordered_ids(clock),
            known=None if spec is None else Known.of_app(spec),
            plans=plans,
        )


@contextmanager
def at_hand(database: Database, wakes: Wakes | None = None) -> Iterator[None]:
    """Let `app.connect()` of this process find this store during the block, as handlers of a service do.

    In this loop it tells `wakes`; without them, and in other loops, it opens a bus of its own.
    """
    _running[database.context] = _Running(database, wakes, None if wakes is None else asyncio.get_running_loop())
    try:
        yield
    finally:
        _running.pop(database.context, None)


@asynccontextmanager
async def open_control(database: Database, settings: Settings | None = None) -> AsyncIterator[Control]:
    """Open what steering a context takes; `settings` are for its chores, without them nothing scales by itself.

    Raises what `checked` raises.
    """
    database, clock = await checked(database), SystemClock()
    async with (
        open_stores(database, clock) as client,
        open_overview(database) as overview,
        open_plans(database) as plans,
    ):
        bounds = None if settings is None else settings.autoscale.bounds()
        keeping = housekeeping(database.context, settings or Settings(), client, overview, clock)
        excuse = client.slots.excuse
        yield Control(
            plans, client.ledger, overview, database.slots, excuse, client.pauses, autoscale=bounds, chores=keeping.run
        )


@asynccontextmanager
async def connect(app: App, dsn: str | None, /) -> AsyncIterator[ClientStores]:
    """`app.connect()`: the store at `dsn`, else that of the service this process runs, else where the settings say.

    Raises `NotConnectedError` when there is none, and what `checked` raises.
    """
    running = _running.get(app.context) if dsn is None else None
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        if running is not None and running.loop is asyncio.get_running_loop():
            database, wakes = await checked(running.database), running.wakes
        else:
            settings = settings_of(app)
            found = database_of(settings, app.context, dsn=dsn) if running is None else running.database
            database = await checked(found)
            wakes = await stack.enter_async_context(open_wakes(settings, database, clock))
        stores = await stack.enter_async_context(open_stores(database, clock, wakes))
        yield stores


def _heard(service: Service, heads: Heads) -> None:
    for partition in service.partitions:
        partition.feed.heard(heads)
