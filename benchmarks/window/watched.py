"""What a partition that reads a log loses to a hundred browsers which listen to the console.

Runs with and without listeners alternate, each a new subscription that reads the whole log, and medians are compared.
The console has a process of its own; the listeners are in a third, since browsers take no core of the app's machine.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from statistics import median

from benchmarks.catch_up import Measured, run_readers
from benchmarks.report import Options, console
from benchmarks.servers import free_port, fresh_database
from benchmarks.workload import CONTEXT, Bookings, load
from wow_ray.adapters.postgres import Database

LISTENERS = 100
ROUNDS = 8
PATIENCE = 60.0


async def run(options: Options) -> dict[str, float]:
    """Read in turn with and without listeners; a ratio of 1 = they cost nothing."""
    events = options.size(100_000, 200_000)
    alone: list[Measured] = []
    watched: list[Measured] = []
    async with fresh_database(CONTEXT) as database:
        await load(database, Bookings(options.seed, events // 10), events - 1)
        async with _console(database) as port:
            for turn in range(ROUNDS):
                # The other one first each time: what grows slower in time does so for both.
                for with_listeners in (False, True) if turn % 2 else (True, False):
                    async with _listening(port) if with_listeners else nullcontext():
                        measured, _ = await run_readers(database, f"{turn}x{with_listeners:d}", 1, events)
                        (watched if with_listeners else alone).append(measured)
                console.print(f"round {turn + 1}: alone {alone[-1].rate:,.0f}/s, watched {watched[-1].rate:,.0f}/s")
    return {
        "alone_events_per_s": median(each.rate for each in alone),
        "watched_events_per_s": median(each.rate for each in watched),
        "watched_throughput_ratio": median(w.rate / a.rate for a, w in zip(alone, watched, strict=True)),
        "watched_by_core_ratio": median(a.microseconds / w.microseconds for a, w in zip(alone, watched, strict=True)),
    }


@asynccontextmanager
async def _console(database: Database) -> AsyncIterator[int]:
    """Serve the console during the block; gives its port."""
    port = free_port()
    process = await _started("benchmarks.window.server", str(port), database.schema)
    try:
        await _told(process, database.dsn)
        yield port
    finally:
        await _ended(process)


@asynccontextmanager
async def _listening(port: int) -> AsyncIterator[None]:
    """Have the listeners listen during the block; each has been told something before it begins."""
    process = await _started("benchmarks.window.listeners", str(port), str(LISTENERS))
    try:
        await _told(process, "")
        yield
    finally:
        await _ended(process)


async def _started(module: str, *arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-m", module, *arguments, stdin=PIPE, stdout=PIPE)


async def _told(process: Process, line: str) -> None:
    """Tell a process its first line, and wait until it says that it has begun."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process was started without pipes")
    process.stdin.write(f"{line}\n".encode())
    if not await asyncio.wait_for(process.stdout.readline(), PATIENCE):
        raise RuntimeError("the process ended instead of beginning")


async def _ended(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()
