"""The other side as a benchmark holds it: an HTTP server in a process of its own."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.servers import free_port

PATIENCE = 20.0
"""Seconds within which the process does what it is told; a machine under load takes its time to start one."""


class Downstream:
    """Gives orders to the server; each returns the time at which it was carried out."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        """Talk to the process; it serves `url`."""
        self.url = url
        self._process = process

    async def down(self) -> float:
        """Stop serving: connections are refused."""
        return await self._told("down")

    async def up(self) -> float:
        """Serve again."""
        return await self._told("up")

    async def answers(self, status: int, retry_after: int = 0) -> float:
        """Answer with this status from now on, and with `Retry-After` unless it is 0."""
        return await self._told(f"answer {status} {retry_after}")

    async def _told(self, order: str) -> float:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the downstream process was started without pipes")
        stdin.write(f"{order}\n".encode())
        return float(await asyncio.wait_for(stdout.readline(), PATIENCE))


@asynccontextmanager
async def downstream() -> AsyncIterator[Downstream]:
    """Start the process and have it serve; it ends with the block, or with this process."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.outage.server", str(port)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        server = Downstream(process, f"http://127.0.0.1:{port}")
        await server.up()
        yield server
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
