"""The program of the other side: an HTTP server that does as it is told over its standard input.

`down` closes the port and every connection, so that connecting is refused; `up` opens the port again; `answer STATUS
SECONDS` sets what is answered from now on, and its `Retry-After` (0 = none). Each is acknowledged with the time.
"""

import asyncio
import sys
import time

from aiohttp import web

TAKES = 0.005
"""Seconds that an answer takes, as over a network nearby."""


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
