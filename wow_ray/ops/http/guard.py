"""Stands before everything that is served: says who a request is from, or refuses it, and seals the answer's headers.

A route behind it needs to know nothing of this: by then the request may do what it asks for, `X-Actor` names who asks
whatever it said before, and `request.state.visitor` is the `Visitor`. What is new behind it is guarded by being there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from http import HTTPStatus
from typing import Literal
from urllib.parse import quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wow_ray.ops.access.access import Access, Refused, Visitor, is_here, is_word
from wow_ray.ops.access.roles import wanted_for
from wow_ray.ops.access.sessions import Session, cookie_of
from wow_ray.ops.http.problems import problem

PROBES = frozenset({"/healthz", "/readyz"})
"""Answered to anybody under any name: they tell nothing but how the app stands."""
UNKNOWN: Literal[401] = 401
LOGIN, LOGOUT = "/login", "/logout"
API = ("/api/", "/openapi.json", "/metrics")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: with it a form's Origin would read "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
NOBODY = "http"
"""Who asks when no tokens are configured and the request does not say."""

Known = tuple[Visitor, Session | None]
"""Who asks, and the session that begins with the answer."""
Page = Callable[[int, str, str], Response]


class Guard:
    """The application with somebody at its door."""

    def __init__(self, app: ASGIApp, access: Access, page: Page, service: str = "") -> None:
        """Guard `app`; `page` makes a page for a browser that says why it is refused, `service` is said by answers."""
        self._app = app
        self._access = access
        self._page = page
        self._headers = HEADERS | ({"X-Wow-Ray-Service": service} if service else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        session: Session | None = None

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                if session is not None:
                    headers.append("Set-Cookie", self._cookie(session, request.url.scheme))
            await send(message)

        path = request.url.path
        if path in PROBES or path.startswith("/static/"):
            await self._app(scope, receive, sealed)
            return
        found = self._let_in(request, path, scope["method"])
        if isinstance(found, Refused):
            await self._refusal(request, scope["method"], found)(scope, receive, sealed)
            return
        if found is not None:
            visitor, session = found
            scope.setdefault("state", {})["visitor"] = visitor
            _sign(scope, visitor)
        await self._app(scope, receive, sealed)

    def _let_in(self, request: HTTPConnection, path: str, method: str) -> Known | Refused | None:
        """Say who asks; `None` = nobody, who may sign in."""
        refused = self._elsewhere(request, method)
        if refused is not None or path == LOGIN:
            return refused
        found = self._known(request)
        return found if isinstance(found, Refused) else _barred(found[0], request, path, method) or found

    def _elsewhere(self, request: HTTPConnection, method: str) -> Refused | None:
        """Refuse what comes from another site, and what comes from elsewhere while nobody is asked who they are."""
        origin = request.headers.get("Origin")
        if method not in SAFE and origin is not None and urlsplit(origin).netloc != request.headers.get("Host"):
            return Refused(
                403, "WOW-REQUEST", f"a page of {origin[:200]} asks for this", "ask for it in the console itself"
            )
        if not self._access.is_open:
            return None
        if not is_here(request.url.hostname):
            detail = f"this API has no name {request.url.hostname!r} while no token is configured"
            return Refused(403, "WOW-REQUEST", detail, "ask it at 127.0.0.1, or configure tokens (ops.tokens_file)")
        if request.client is not None and not is_here(request.client.host):
            detail = f"no token is configured, so this machine alone is answered, not {request.client.host}"
            return Refused(403, "WOW-REQUEST", detail, "configure tokens (ops.tokens_file), then ask with one")
        return None

    def _known(self, request: HTTPConnection) -> Known | Refused:
        """Say who asks."""
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer" and not self._access.is_open:
            visitor = self._access.by_token(token.strip(), _address(request))
            return visitor if isinstance(visitor, Refused) else (visitor, None)
        if (known := self._access.by_session(request.cookies.get(self._access.cookie))) is not None:
            return known[0], None
        if self._access.is_open:
            visitor, session = self._access.by_being_here()
            # A script has no use for it.
            return visitor, None if request.url.path.startswith(API) else session
        return Refused(401, "WOW-TOKEN", "this takes a token", "send `Authorization: Bearer …`, or sign in at /login")

    def _cookie(self, session: Session, scheme: str) -> str:
        return cookie_of(self._access.seal, session, scheme, self._access.cookie)

    def _refusal(self, request: HTTPConnection, method: str, refused: Refused) -> Response:
        """Answer why not, as a problem or as a page; who is not known may sign in on another."""
        path, is_unknown = request.url.path, refused.status == UNKNOWN
        response: Response
        if path.startswith(API):
            response = problem(refused.status, refused.code, refused.detail, refused.following)
        elif is_unknown:
            return RedirectResponse(_login(request, method), HTTPStatus.SEE_OTHER)
        else:
            response = self._page(refused.status, refused.detail, refused.following)
        if is_unknown:
            response.headers["WWW-Authenticate"] = 'Bearer realm="wow-ray"'
        if refused.after:
            response.headers["Retry-After"] = str(math.ceil(refused.after))
        return response


def _barred(visitor: Visitor, request: HTTPConnection, path: str, method: str) -> Refused | None:
    """Refuse what takes another role, and what a script asks for without the word of its session."""
    wanted = wanted_for(method, path)
    if path != LOGOUT and not visitor.role.covers(wanted):
        detail = f"{visitor.name} is {_a(visitor.role.value)}; this takes {_a(wanted.value)}"
        return Refused(403, "WOW-ROLE", detail, f"ask {_a(wanted.value)} to do it, or for a token of that role")
    # The console's forms carry the word in their body, which is the console's to read.
    by_script = visitor.by == "session" and method not in SAFE and path.startswith(API)
    if by_script and not is_word(visitor, request.headers.get("X-CSRF-Token")):
        return Refused(403, "WOW-REQUEST", "the word of the session is missing", "send it as X-CSRF-Token")
    return None


def _sign(scope: Scope, visitor: Visitor) -> None:
    """Let `X-Actor` name who asks; where nobody is asked, on this machine, what the request says stays."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    if visitor.by == "loopback":
        return
    scope["headers"] = [(name, value) for name, value in headers if name.lower() != b"x-actor"]
    scope["headers"].append((b"x-actor", visitor.name.encode("latin-1")))


def _address(request: HTTPConnection) -> str:
    """Give the address that a request comes from, as it counts for failures."""
    return "" if request.client is None else request.client.host


def _login(request: HTTPConnection, method: str) -> str:
    """Give the address of the page to sign in, which leads back to what was looked for."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return LOGIN if method not in SAFE or wanted == "/" else f"{LOGIN}?next={quote(wanted, safe='')}"


def _a(role: str) -> str:
    """Write a role with its article."""
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"
