"""The console in a process of its own, as on Ray Serve: `python -m benchmarks.window.server PORT SCHEMA`.

The address of the store is read from standard input, the first line; the process ends when that is closed. Once it
listens it writes a line.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from benchmarks.workload import CONTEXT
from wow_ray.adapters.postgres import Database
from wow_ray.cluster import open_operations
from wow_ray.ops import Operations
from wow_ray.ops.http import api


async def serve(port: int, database: Database) -> None:
    """Serve until nobody wants it any more."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Operations]:
        async with open_operations(database) as operations:
            yield operations

    server = uvicorn.Server(uvicorn.Config(api(opened), port=port, log_level="critical", timeout_graceful_shutdown=1))
    serving = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - it has no event to wait for
        await asyncio.sleep(0.02)
    print("serving", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Database(sys.stdin.readline().strip(), CONTEXT, sys.argv[2])))
