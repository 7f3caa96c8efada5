"""Durable calls on Postgres and on Redis: stored and run per second, and how late 1,000 due per second begin."""

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from benchmarks.report import Bar, Options, Report, console
from benchmarks.servers import fresh_database, server_version
from wow_ray import App, Durable
from wow_ray.adapters.calls_store import open_stores
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database
from wow_ray.ports.stores import ClientStores
from wow_ray.runtime.durable_calls import CallPace, CallWorker
from wow_ray.runtime.verdicts import Verdicts
from wow_ray.settings import Settings

SUBMITTERS = 16
CONCURRENCY = 256
DUE_PER_SECOND = 1_000
WORKLOAD = f"no-op async function, one argument; {SUBMITTERS} submitters and one worker of {CONCURRENCY} in one process"

app = App("calls-bench")
late: list[float] = []
ran = [0]


@app.retryable(durable=Durable(timeout="30s"), raise_error=True)
async def work(due: float) -> None:
    """Note how late it begins."""
    ran[0] += 1
    if due > 0:
        late.append(time.monotonic() - due)


async def run(options: Options) -> Report:
    """Measure both stores; Redis only where there is a server to start."""
    figures: dict[str, float] = {}
    async with fresh_database("calls-bench") as database:
        postgres = await server_version(database)
        figures |= await _measured("postgres", database, options)
        async with _redis() as url:
            if url is None:
                console.print("no redis-server here: Postgres alone")
            else:
                on_redis = Database(database.dsn, database.context, database.schema, calls_url=SecretStr(url))
                figures |= await _measured("redis", on_redis, options)
    bars = {"postgres": Bar("postgres_stored_and_run_per_s", ">=", 2_000)}
    return Report("durable_calls", WORKLOAD, options.seed, postgres, figures, bars)


async def _measured(name: str, database: Database, options: Options) -> dict[str, float]:
    """Measure one store."""
    clock = SystemClock()
    async with open_stores(database, clock) as stores:
        spec = app.resolved(Settings())
        with spec.attached(stores, lambda: None):
            async with _worker(stores, clock):
                rate = await _throughput(options.size(3_000, 20_000))
                lateness = await _lateness(DUE_PER_SECOND * (3 if options.quick else 10))
    p50, p99 = lateness[len(lateness) // 2], lateness[len(lateness) * 99 // 100]
    console.print(f"{name}: {rate:,.0f} stored and run per second; late {p50 * 1e3:.1f} ms p50, {p99 * 1e3:.1f} ms p99")
    return {
        f"{name}_stored_and_run_per_s": rate,
        f"{name}_late_p50_ms": p50 * 1e3,
        f"{name}_late_p99_ms": p99 * 1e3,
    }


@asynccontextmanager
async def _worker(stores: ClientStores, clock: SystemClock) -> AsyncIterator[None]:
    """Run the function's calls during a block."""

    async def nobody(_: type[object]) -> object:
        raise AssertionError

    verdicts = Verdicts((), (), lambda _: False, clock)
    functions = app.resolved(Settings()).functions
    pace = CallPace(concurrency=CONCURRENCY, poll=0.02)
    worker = CallWorker(
        "bench", functions, stores.calls, nobody, clock=clock, dice=lambda: 0.5, verdicts=verdicts, pace=pace
    )
    await worker.start()
    try:
        yield
    finally:
        await worker.stop()


async def _throughput(calls: int) -> float:
    """Store so many calls as fast as they are taken, and wait until all have run."""
    ran[0] = 0
    left = iter(range(calls))
    started = time.monotonic()
    await _all(lambda: _submitting(left))
    await _until_run(calls)
    return calls / (time.monotonic() - started)


async def _submitting(left: Iterator[int]) -> None:
    for _ in left:
        await work.submit(0.0)


async def _lateness(calls: int) -> list[float]:
    """Store calls that come due a millisecond apart, all before the first is due; give how late each began, sorted."""
    ran[0] = 0
    late.clear()
    first = time.monotonic() + calls / 1_000 + 3.0
    left = iter(range(calls))

    async def submitting() -> None:
        for n in left:
            due = first + n / DUE_PER_SECOND
            wait = max(0.0, due - time.monotonic())
            await work.options(delay=f"{wait:.6f}s").submit(due)

    await _all(submitting)
    if time.monotonic() > first:
        console.print("the store took the calls more slowly than they were to come due")
    await _until_run(calls)
    return sorted(late)


async def _all(submitting: Callable[[], Awaitable[None]]) -> None:
    await asyncio.gather(*(submitting() for _ in range(SUBMITTERS)))


async def _until_run(calls: int) -> None:
    while ran[0] < calls:  # noqa: ASYNC110 - an event would be measured, too
        await asyncio.sleep(0.005)


@asynccontextmanager
async def _redis() -> AsyncIterator[str | None]:
    """Start a server that flushes its log each second, as is usual; `None` where there is none."""
    program = shutil.which("redis-server")
    if program is None:
        yield None
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with TemporaryDirectory(prefix="wow-ray-bench-redis-") as folder:
        config = f"bind 127.0.0.1\nport {port}\ndir {folder}\nappendonly yes\nappendfsync everysec\nlogfile log\n"
        (Path(folder) / "redis.conf").write_text(config, encoding="utf-8")
        server = await asyncio.to_thread(subprocess.Popen, [program, f"{folder}/redis.conf"])
        try:
            await _answers(port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()
            await asyncio.to_thread(server.wait)


async def _answers(port: int) -> None:
    for _ in range(500):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            return
    raise TimeoutError("redis-server does not answer")
