"""Signing in with a token, and out again."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from wow_ray.ops.access import Access
from wow_ray.ops.access.access import Refused
from wow_ray.ops.access.sessions import cookie_of
from wow_ray.ops.console.asked import Sent, fields_of
from wow_ray.ops.console.rendering import page

router = APIRouter(include_in_schema=False)

Next = Annotated[str, Query(alias="next", max_length=2_000)]


@router.get("/login")
async def login(request: Request, following: Next = "/") -> Response:
    """Ask for a token, where tokens are configured."""
    access: Access = request.app.state.access
    if access.is_open:
        return RedirectResponse("/", 303)
    return _asking(request, following)


@router.post("/login")
async def signed_in(request: Request) -> Response:
    """Begin a session, and lead to the page that was looked for."""
    access: Access = request.app.state.access
    fields = await fields_of(request)
    following = fields.get("next", "/")
    address = "" if request.client is None else request.client.host
    found = access.signed_in(fields.get("token", "").strip(), address)
    if isinstance(found, Refused):
        response = _asking(request, following, found)
        if found.after:
            response.headers["Retry-After"] = str(math.ceil(found.after))
        return response
    answer = RedirectResponse(_here(following), 303)
    answer.headers["Set-Cookie"] = cookie_of(access.seal, found, request.url.scheme, access.cookie)
    return answer


@router.post("/logout")
async def signed_out(request: Request, form: Sent) -> Response:
    """End the session of this browser."""
    del form
    access: Access = request.app.state.access
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(access.cookie, path="/", httponly=True, samesite="strict")
    return answer


def _asking(request: Request, following: str, refused: Refused | None = None) -> HTMLResponse:
    """Make the page that asks for a token."""
    values = {"title": "Sign in", "following": _here(following), "refused": refused}
    return page("login.html", values, request=request, status=200 if refused is None else refused.status)


def _here(address: str) -> str:
    r"""Give an address of this console, whatever was asked for: `//evil.example` and `/\evil.example` lead away."""
    is_path = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_path and "\\" not in address else "/"
