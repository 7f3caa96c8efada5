"""`wow-ray dev APP`: the app in one process, with a private Postgres when there is no other, and reloaded on save."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from wow_ray.cli.exits import Exit, message_of
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
from wow_ray.cli.serving import Ended, Plan, Serving, Stop, serve
from wow_ray.cli.shown import document, say
from wow_ray.cli.vitals import Vitals
from wow_ray.cli.watching import Watch
from wow_ray.cluster import SystemClock, settings_of


class Returning(StrEnum):
    """Where a group goes on that was away: at what is stored of it, or at the end of the log."""

    STORED = "stored"
    END = "end"


_WHERE: Mapping[Returning | None, Literal["stored", "end"] | None] = {
    None: None,
    Returning.STORED: "stored",
    Returning.END: "end",
}


def dev(
    app: Target = None,
    *,
    data_dir: DataDirOption = None,
    partitions: Annotated[
        int | None, typer.Option("--partitions", min=1, help="In place of the settings' number.")
    ] = None,
    reload: Annotated[bool, typer.Option("--reload/--no-reload", help="Start anew when the app is saved.")] = True,
    settings: SettingsOption = None,
    returning: Annotated[
        Returning | None, typer.Option("--returning", help="Where a group goes on that the last program did not have.")
    ] = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run the app in this process until Ctrl-C, which drains it. Starts a private Postgres unless a DSN is set."""
    home = Home()
    log_to_stderr(debug=debug)
    plan = Plan(named(app), data_dir, partitions, reload, settings, _WHERE[returning], as_json)
    try:
        # What the app prints is no result of this command.
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            ended, watched, vitals = _run(plan, home)
    except BaseException:
        home.close()
        raise
    if ended == "reload":
        home.again(watched)
    home.close()
    if as_json:
        document({"ended": ended, **({} if vitals is None else vitals.to_json())})
    _leave()


def _run(plan: Plan, home: Home) -> tuple[Ended, Sequence[Path], Vitals | None]:
    """Serve the app as it is saved now; where it was to replace one that ran, a failure waits for the next save."""
    try:
        return _serve(plan, home)
    except Exception as error:
        if home.started or not (home.reloaded and plan.reload):
            raise
        code, message = message_of(error)
        say(f"not started: {code} {message}; waiting for the next save")
        return asyncio.run(_next_save(home)), home.watched, None


def _serve(plan: Plan, home: Home) -> tuple[Ended, Sequence[Path], Vitals | None]:
    """Load, resolve, find the store, serve."""
    # Saves within one second and of one size look alike to the byte code of the first.
    sys.dont_write_bytecode = plan.reload
    # Begun before the import where the folders are known, so that a save during it is not missed.
    watch = Watch(home.watched, plan.settings, SystemClock())
    loaded = load_app(plan.target)
    if home.watched != loaded.folders:
        home.watched = loaded.folders
        watch = Watch(home.watched, plan.settings, SystemClock())
    settings = settings_of(loaded.app, plan.settings)
    spec = loaded.app.resolved(settings)
    refuse_two_stores(settings, plan.data_dir)
    database = home.database(spec.context, settings, plan.data_dir)
    if not home.reloaded:
        place = "the postgres_dsn" if home.server is None else f"a private Postgres in {home.server.state_dir}"
        say(f"{spec.context} on {place}")
        if home.server is not None and plan.data_dir is not None:
            say(f"for other processes: export WOW_RAY_POSTGRES_DSN='{home.server.dsn}'")
        if plan.reload:
            say(f"watching {', '.join(map(str, loaded.folders))}")
    serving = Serving(plan, home, spec, settings, database, watch if plan.reload else None)
    ended, vitals = asyncio.run(serve(serving))
    return ended, loaded.folders, vitals


async def _next_save(home: Home) -> Ended:
    """Wait for a save, or a signal."""
    stop = Stop()
    try:
        await Watch(home.watched, None, SystemClock()).changed()
    except asyncio.CancelledError:
        if not stop.asked.is_set():
            raise
        return "stopped"
    return "reload"


def _leave() -> None:
    """End the process although a call of a blocking handler has not ended: its thread would keep it for ever."""
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(Exit.DONE)
