"""Several services behind one door: each is an application of its own, at an address of its own.

The home service is at `/`, where it always was; any other at `/services/NAME`, with everything that the home has:
pages, API, events, probes, metrics. Such an application knows nothing of its place: its addresses are taken apart
before it and put together again behind it, so that no route and no redirect can lead to another service by mistake.
They share no door to a store, no look at one, no batch and no word of a form. What they do share is stated: who is let
in, where a service has no tokens of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wow_ray.ops.access.access import Access
from wow_ray.ops.http.door import Door, Opened
from wow_ray.ops.services import Lookout
from wow_ray.ports.clock import Clock

UNDER = "/services/"


def at_of(name: str) -> str:
    """Give the beginning of the addresses of a service that is not the home."""
    return f"{UNDER}{quote(name, safe='')}"


@dataclass(frozen=True, slots=True)
class Service:
    """A service beside the home: its name, what opens its operations, who is let in."""

    name: str
    opened: Opened
    access: Access


@dataclass(frozen=True, slots=True)
class Several:
    """What stands beside the home, and the name of the home itself; `clock` says for how long a look is fresh."""

    home: str
    others: tuple[Service, ...]
    clock: Clock


@dataclass(frozen=True, slots=True)
class Place:
    """A service with its application and its address; `at` is empty for the home."""

    name: str
    at: str
    app: FastAPI
    access: Access

    def is_open_to(self, request: HTTPConnection) -> bool:
        """Whether who asks may look at this service, too."""
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        given = token.strip() if kind.lower() == "bearer" else None
        return self.access.knows(given, request.cookies.get(self.access.cookie))


@dataclass(slots=True)
class Directory:
    """Every service of one console, the home first; without a clock nobody looks at all of them together."""

    clock: Clock | None
    places: list[Place] = field(default_factory=list)
    lookouts: dict[str, Lookout] = field(default_factory=dict)

    def add(self, name: str, at: str, app: FastAPI, door: Door, access: Access) -> None:
        """Add a service."""
        self.places.append(Place(name, at, app, access))
        if self.clock is not None:
            self.lookouts[at] = Lookout(name, at, door.operations, door.close, self.clock)

    def open_to(self, request: HTTPConnection) -> Sequence[Place]:
        """Give the services that whoever asks may look at."""
        return [place for place in self.places if place.is_open_to(request)]

    def watched(self, request: HTTPConnection) -> Sequence[Lookout]:
        """Give what looks at the services that whoever asks may look at."""
        return [self.lookouts[place.at] for place in self.open_to(request)]

    async def close(self) -> None:
        """Give up looks under way."""
        for lookout in self.lookouts.values():
            await lookout.close()


class Apart:
    """Leads a request to the service whose address it has; all other requests are the home's."""

    def __init__(self, app: ASGIApp, directory: Directory) -> None:
        """Stand before the home's application."""
        self._home = app
        self._directory = directory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path: str = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(UNDER):
            await self._home(scope, receive, send)
            return
        name, _, rest = path.removeprefix(UNDER).partition("/")
        place = next((each for each in self._directory.places if each.name == name), None)
        if place is None:
            await self._home(scope, receive, send)  # which says that there is no such page
        elif not place.at:
            query = scope.get("query_string", b"").decode("latin-1")
            there = f"/{quote(rest.lstrip('/'))}" + (f"?{query}" if query else "")
            # The home has one address; 308 keeps what was asked for.
            await RedirectResponse(there, 308)(scope, receive, send)
        else:
            await place.app(beneath(scope, f"/{rest}"), receive, _put_under(place.at, send))


def beneath(scope: Scope, path: str) -> Scope:
    """Give the request as the application of the service sees it."""
    return {**scope, "path": path, "raw_path": quote(path).encode("ascii"), "state": dict(scope.get("state", {}))}


def _put_under(at: str, send: Send) -> Send:
    """Lead back to the service's own addresses."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            location = headers.get("Location", "")
            if location.startswith("/") and not location.startswith("//"):
                headers["Location"] = f"{at}{location}"
        await send(message)

    return sent
