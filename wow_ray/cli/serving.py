"""The part of `wow-ray dev` in the event loop: serve until somebody asks to stop, or a save is to be served."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wow_ray.cli.exits import Exit
from wow_ray.cli.home import Home
from wow_ray.cli.shown import say, times
from wow_ray.cli.vitals import Pulse, Vitals, follow
from wow_ray.cli.watching import Watch, check
from wow_ray.cluster import Database, migrated, open_operations, open_service
from wow_ray.handlers.specs import AppSpec
from wow_ray.settings import Settings

Ended = Literal["stopped", "reload"]

STOP_BOUND = 30.0
"""Seconds a drain may take in all: 10 for calls under way, the rest for the last commit and the app's resources."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for on the command line."""

    target: str
    data_dir: Path | None
    partitions: int | None
    reload: bool
    settings: Path | None
    returning: Literal["stored", "end"] | None
    as_json: bool


class Stop:
    """Ctrl-C and SIGTERM: the first one asks for a drain, the second ends the process at once."""

    def __init__(self) -> None:
        """Take the signals over, in a running loop."""
        self._starting = asyncio.current_task()
        self.asked = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._signalled)

    def started(self) -> None:
        """Say that there is something to drain now; before, a signal just ends the start."""
        self._starting = None

    def bound(self) -> None:
        """See that the process ends, drained or not."""
        asyncio.get_running_loop().call_later(STOP_BOUND, self._give_up)

    def _signalled(self) -> None:
        if self.asked.is_set():
            say("stopping at once; calls under way are repeated by the next start")
            os._exit(Exit.INTERRUPTED)  # the private server's shell notices and ends it
        self.asked.set()
        if self._starting is not None:
            self._starting.cancel()

    def _give_up(self) -> None:
        say(f"not drained within {STOP_BOUND:g} s; stopping at once")
        os._exit(Exit.FAILED)


@dataclass(frozen=True, slots=True)
class Serving:
    """Everything that is served."""

    plan: Plan
    home: Home
    spec: AppSpec
    settings: Settings
    database: Database
    watch: Watch | None


async def serve(serving: Serving) -> tuple[Ended, Vitals | None]:
    """Migrate, run and drain; answers why it ended and how it stood. Raises what the start or a partition raises."""
    stop = Stop()
    try:
        return await _served(serving, stop)
    except asyncio.CancelledError:
        if not stop.asked.is_set():
            raise
        say("stopped before it had started")
        return "stopped", None


async def _served(serving: Serving, stop: Stop) -> tuple[Ended, Vitals | None]:
    """Run until there is a reason to end."""
    plan, spec = serving.plan, serving.spec
    if applied := await migrated(serving.database, serving.settings):
        say(f"migrated: {', '.join(applied)}")
    # Away only while this process was being edited, a group goes on where it was.
    returning = plan.returning or ("stored" if serving.home.reloaded else None)
    vitals = None
    async with contextlib.AsyncExitStack() as stack:
        service = await stack.enter_async_context(
            open_service(spec, serving.settings, serving.database, partitions=plan.partitions, returning=returning)
        )
        operations = await stack.enter_async_context(open_operations(serving.database, spec))
        from wow_ray.cli.console import served_console  # noqa: PLC0415 - the other commands do without a web server

        console = await stack.enter_async_context(served_console(operations, serving.settings))
        stop.started()
        serving.home.started = True
        names = ", ".join(group.name for group in spec.groups) or "no handlers"
        say(f"running {times(len(service.partitions), 'partition')}: {names}")
        say(f"console at {console}")
        pulse = Pulse(service, operations)
        ends: list[Coroutine[Any, Any, object]] = [stop.asked.wait(), service.wait()]
        if serving.watch is not None:
            ends.append(_saved(serving, serving.watch))
        ended = await _first(ends, follow(pulse, as_json=plan.as_json))
        vitals = await pulse.take()
        reloading = ended == len(ends) - 1 and serving.watch is not None
        say("reloading" if reloading else "draining; once more Ctrl-C stops at once")
        stop.bound()
    return "reload" if reloading and not stop.asked.is_set() else "stopped", vitals


async def _first(ends: list[Coroutine[Any, Any, object]], beside: Coroutine[Any, Any, None]) -> int:
    """Wait for the first of several to end, running another one meanwhile; answers its place, raises what it raised."""
    tasks = [asyncio.ensure_future(each) for each in ends]
    beside_them = asyncio.ensure_future(beside)
    try:
        done, _ = await asyncio.wait([*tasks, beside_them], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*tasks, beside_them):
            task.cancel()
        await asyncio.gather(*tasks, beside_them, return_exceptions=True)
    ended = next(iter(done))
    ended.result()
    return tasks.index(ended) if ended in tasks else 0


async def _saved(serving: Serving, watch: Watch) -> None:
    """Wait for a save that can be served; say of every other one what is wrong with it."""
    plan, home = serving.plan, serving.home
    while True:
        changed = ", ".join(_name(path, home.folder) for path in await watch.changed())
        wrong = await check(plan.target, plan.settings, home.environ, home.folder)
        if await watch.stale():
            continue
        if not wrong:
            say(f"saved: {changed}")
            return
        say(f"saved: {changed}; not loaded, the version before goes on: {wrong}")


def _name(path: Path, folder: Path) -> str:
    """Write a path as seen from the folder."""
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
