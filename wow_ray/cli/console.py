"""The console of a program in the foreground: served beside it, in its loop, as long as it runs."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from wow_ray.cli.admitting import access_of
from wow_ray.cli.several import several_of
from wow_ray.errors import SettingsError
from wow_ray.ops import Operations
from wow_ray.ops.http import api
from wow_ray.settings import Settings

GRACE = 1
"""Seconds that an answer under way may take when the program ends; a page that listens would take for ever."""


class _Server(uvicorn.Server):
    """A server that leaves signals to the program it is part of."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def served_console(operations: Operations, settings: Settings) -> AsyncIterator[str]:
    """Serve the console and the API during the block; gives the address. Raises `SettingsError` where it may not."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Operations]:
        yield operations

    access = access_of(settings)
    access.check_binding(settings.ops.host)
    several = several_of(settings, operations.context, access)
    listening = _listening(settings)
    config = uvicorn.Config(
        api(opened, access, several),
        log_level="critical",
        access_log=False,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        ws="none",
    )
    server = _Server(config)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    try:
        yield _address(settings.ops.host, listening)
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        listening.close()


def _listening(settings: Settings) -> socket.socket:
    """Listen where the settings say; where they do not say and that is taken, anywhere."""
    host, port = settings.ops.host, settings.ops.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return _prompt(socket.create_server((host, port), family=family))
    except OSError as error:
        if error.errno == errno.EADDRINUSE and "port" not in settings.ops.model_fields_set:
            return _prompt(socket.create_server((host, 0), family=family))
        raise SettingsError(f"ops.host {host!r} and ops.port {port} cannot be listened on: {error.strerror}") from error


def _prompt(listening: socket.socket) -> socket.socket:
    """Have its connections send at once: an answer is two writes, and the second would wait 40 ms for the client.

    The loop does this for sockets that name their protocol, which those of `create_server` do not.
    """
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _address(host: str, listening: socket.socket) -> str:
    """Write the address for a browser."""
    port: int = listening.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
