"""Browsers that listen to the console, in one process: `python -m benchmarks.window.listeners PORT COUNT`.

Each holds one connection open and reads what it is told. Once every one was told something, a line is written; the
process ends when standard input is closed.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress


async def listen(port: int, told: asyncio.Semaphore) -> None:
    """Listen until cancelled; raises `ConnectionError` when the console ends the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
    said = False
    while line := await reader.readline():
        if line.startswith(b"event:") and not said:
            said = True
            told.release()
    raise ConnectionError("the console has ended its answer")


async def run(port: int, count: int) -> None:
    """Open all of them, say so, and stay."""
    told = asyncio.Semaphore(0)
    listeners = [asyncio.ensure_future(listen(port, told)) for _ in range(count)]
    everybody = asyncio.gather(*listeners)
    for _ in range(count):
        await told.acquire()
    print("listening", flush=True)
    over = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
    await asyncio.wait({over, everybody}, return_when=asyncio.FIRST_COMPLETED)
    everybody.cancel()
    with suppress(asyncio.CancelledError):
        await everybody


if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]), int(sys.argv[2])))
