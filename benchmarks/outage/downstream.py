"""The other side: an HTTP server in a process of its own, which does as it is told over its standard input.

`down` closes the port and every connection, so that connecting is refused; `up` opens the port again; `answer STATUS
SECONDS` sets what is answered from now on, and its `Retry-After` (0 = none). Each is acknowledged with the time.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from benchmarks.servers import free_port

TAKES = 0.005
"""Seconds that an answer takes, as over a network nearby."""
PATIENCE = 20.0
"""Seconds within which the process does what it is told; a machine under load takes its time to start one."""


class Answers:
    """Answers every request alike."""

    def __init__(self) -> None:
        """Answer that all is well."""
        self.status = 200
        self.retry_after = 0

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """Answer one request."""
        del request
        await asyncio.sleep(TAKES)
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after else {}
        return web.Response(status=self.status, headers=headers)


class Downstream:
    """The server as the benchmark holds it: each order returns the time at which it was carried out."""

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
        *(sys.executable, "-m", "benchmarks.outage.downstream", str(port)),
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


async def serve(port: int) -> None:
    """Do as told until the standard input ends."""
    answers = Answers()
    runner: web.ServerRunner | None = None
    while order := (await asyncio.to_thread(sys.stdin.readline)).split():
        match order:
            case ["up"]:
                runner = web.ServerRunner(web.Server(answers.answer), shutdown_timeout=0.0)
                await runner.setup()
                await web.TCPSite(runner, "127.0.0.1", port).start()
            case ["down"] if runner is not None:
                await runner.cleanup()
            case ["answer", status, seconds]:
                answers.status, answers.retry_after = int(status), int(seconds)
            case _:
                raise ValueError(f"no such order: {order}")
        print(time.monotonic(), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
