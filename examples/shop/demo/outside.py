"""The outside as a server: mail service and carrier, over HTTP on loopback, with all their memory in this process."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from examples.shop.shop import CarrierBusyError, ParcelRefusedError, UnknownBuyerError
from examples.shop.world import World


def reserved() -> socket.socket:
    """Take a free port of loopback: its address is told to processes before the server answers."""
    return socket.create_server(("127.0.0.1", 0))


def address_of(door: socket.socket) -> str:
    """Give the address as the shop takes it."""
    host, port = door.getsockname()
    return f"http://{host}:{port}"


@asynccontextmanager
async def answering(world: World, door: socket.socket) -> AsyncIterator[None]:
    """Answer at a reserved port until the block ends. A caller that hangs up is noticed at once."""

    async def mail(request: web.Request) -> web.Response:
        asked = await request.json()
        try:
            await world.mail.tell(asked["buyer"], asked["text"], key=asked["key"])
        except UnknownBuyerError as error:
            return web.Response(status=404, text=str(error))
        return web.Response(status=204)

    async def parcels(request: web.Request) -> web.Response:
        asked = await request.json()
        try:
            tracking = await world.depot.collect(asked["parcel"], asked["grams"], key=asked["key"])
        except ParcelRefusedError as error:
            return web.Response(status=409, text=str(error))
        except CarrierBusyError as error:
            return web.Response(status=429, text=str(error))
        return web.Response(text=tracking)

    server = web.Application()
    server.add_routes([web.post("/mail", mail), web.post("/parcels", parcels)])
    runner = web.AppRunner(server, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.SockSite(runner, door).start()
        yield
    finally:
        await runner.cleanup()
