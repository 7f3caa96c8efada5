"""Puts the console into the application that serves the API, and makes its errors pages where a browser asks."""

from __future__ import annotations

from mimetypes import guess_type

from fastapi import FastAPI
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from wow_ray.ops.access import Access
from wow_ray.ops.console import acting, calls, exports, many, notices, pages, services, signing_in
from wow_ray.ops.console.rendering import STATIC

FILES = frozenset({"console.css", "console.js", "icon.svg"})


def add_console(app: FastAPI, access: Access) -> None:
    """Serve the pages, what their forms ask for, and the two files they need."""
    app.state.access = access
    app.include_router(signing_in.router)
    app.include_router(pages.router)
    app.include_router(exports.router)
    app.include_router(notices.router)
    if not app.state.at and app.state.directory.clock is not None:
        app.include_router(services.router)
    app.include_router(many.parked)
    app.include_router(many.of_calls)
    app.include_router(calls.router)
    app.include_router(acting.router)
    app.add_api_route("/static/{name}", static, include_in_schema=False)


async def static(name: str) -> Response:
    """Give a static file; its address carries its version, so it may be kept."""
    if name not in FILES:
        raise HTTPException(404, "there is no such file")
    kind = guess_type(name)[0] or "application/octet-stream"
    return Response((STATIC / name).read_bytes(), media_type=kind, headers={"Cache-Control": "public, max-age=86400"})
