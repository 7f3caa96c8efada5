"""How an app gets at the log: the connector that the package installs, and the clients that producers use."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from wow_ray.errors import DefinitionError, NotConnectedError
from wow_ray.events import AggregateRef, Commit, NewCommit, Scope, StoredEvent
from wow_ray.ports.event_log import EventStore

if TYPE_CHECKING:
    from wow_ray.app.application import App

R = TypeVar("R")


class Connector(Protocol):
    """What `app.connect()` does: chosen by the package, above the layer of `App`."""

    def __call__(self, app: App, dsn: str | None, /) -> AbstractAsyncContextManager[EventStore]:
        """Open a store for the app; without a DSN, find one as the settings say."""
        ...


_installed: list[Connector] = []


def install_connector(connector: Connector) -> None:
    """Say what `app.connect()` does, once for the process; the same one may be installed again."""
    if _installed not in ([], [connector]):
        raise DefinitionError("a connector is installed already; it is chosen once for the process", "WOW-CONNECT")
    _installed[:] = [connector]


def installed_connector() -> Connector:
    """Answer the connector of this process; raises `NotConnectedError` before one is installed."""
    if not _installed:
        raise NotConnectedError("nothing here can connect; `import wow_ray` before `app.connect()`")
    return _installed[0]


def not_connected(context: str) -> NotConnectedError:
    """Make the error that names the way to connect."""
    return NotConnectedError(f"App({context!r}) is not connected here; use `async with app.connect() as client`")


class Client:
    """What `app.connect()` gives: works until the block ends."""

    def __init__(self, context: str, store: EventStore) -> None:
        """Made by `app.connect()`."""
        self._context = context
        self._store: EventStore | None = store

    @property
    def store(self) -> EventStore:
        """Where events are appended and streams are read; raises `NotConnectedError` after the block."""
        if self._store is None:
            raise not_connected(self._context)
        return self._store

    def end(self) -> None:
        """Make the client useless; done by `app.connect()` when its block ends."""
        self._store = None


class SyncStore:
    """An `EventStore` for code without an event loop; each call waits for its answer."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        """Made by `app.connect_sync()`."""
        self._client = client
        self._loop = loop

    def append(
        self,
        ref: AggregateRef,
        events: Sequence[BaseModel],
        *,
        expected_version: int | None,
        scope: Scope | None = None,
        commit_id: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Commit:
        """Append as `EventStore.append` does, in a transaction of its own."""
        store = self._client.store
        return self._wait(
            store.append(
                ref, events, expected_version=expected_version, scope=scope, commit_id=commit_id, headers=headers
            )
        )

    def append_many(self, commits: Sequence[NewCommit]) -> tuple[Commit, ...]:
        """Append as `EventStore.append_many` does, in a transaction of its own."""
        return self._wait(self._client.store.append_many(commits))

    def stream(self, ref: AggregateRef, *, from_version: int = 1) -> Iterator[StoredEvent]:
        """Read as `EventStore.stream` does, one event at a time."""
        events = self._client.store.stream(ref, from_version=from_version)

        async def following() -> StoredEvent | None:
            return await anext(events, None)

        while (event := self._wait(following())) is not None:
            yield event

    def _wait(self, asked: Coroutine[Any, Any, R]) -> R:
        future = asyncio.run_coroutine_threadsafe(asked, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # a Ctrl-C here must end the call there
            raise


class SyncClient:
    """What `app.connect_sync()` gives: works until the block ends."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        """Made by `app.connect_sync()`."""
        self.store = SyncStore(client, loop)


class _Held(NamedTuple):
    """A connection held open by a task of another thread's loop, until `stop` is set there."""

    client: Client
    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise NotConnectedError("connect_sync() would block the running event loop; use `async with app.connect()`")


@contextmanager
def in_thread(connection: AbstractAsyncContextManager[Client]) -> Iterator[SyncClient]:
    """Hold a connection in one task of a private loop: what is entered in a task must be left in it."""
    _refuse_running_loop()
    opened: Future[_Held] = Future()
    ended: Future[None] = Future()

    async def hold() -> None:
        async with connection as client:
            held = _Held(client, asyncio.get_running_loop(), asyncio.Event())
            opened.set_result(held)
            await held.stop.wait()

    def run() -> None:
        try:
            asyncio.run(hold())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            (ended if opened.done() else opened).set_exception(error)
        else:
            ended.set_result(None)

    Thread(target=run, name="wow-ray-sync", daemon=True).start()
    held = opened.result()
    try:
        yield SyncClient(held.client, held.loop)
    finally:
        held.loop.call_soon_threadsafe(held.stop.set)
        ended.result()
