"""How an app gets at the log: the connector that the package installs, and the clients that producers use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from wow_ray.errors import DefinitionError, NotConnectedError
from wow_ray.events import AggregateRef, Commit, NewCommit, Scope, StoredEvent
from wow_ray.ports.durable_calls import DurableCalls
from wow_ray.ports.event_log import EventStore

if TYPE_CHECKING:
    from wow_ray.app.application import App

R = TypeVar("R")


class Producing(Protocol):
    """What producers and callers use of a store."""

    @property
    def events(self) -> EventStore:
        """The log."""
        ...

    @property
    def calls(self) -> DurableCalls:
        """Durable calls."""
        ...


class Connector(Protocol):
    """What `app.connect()` does: chosen by the package, above the layer of `App`."""

    def __call__(self, app: App, dsn: str | None, /) -> AbstractAsyncContextManager[Producing]:
        """Open the stores of the app; without a DSN, find one as the settings say."""
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

    def __init__(self, context: str, stores: Producing, told: Callable[[], None] | None = None) -> None:
        """Made by `app.connect()`, in the loop that it belongs to; `told` is called there when a call was stored."""
        self._context = context
        self._told = told
        self._stores: Producing | None = stores
        self.loop = asyncio.get_running_loop()

    @property
    def store(self) -> EventStore:
        """Where events are appended and streams are read; raises `NotConnectedError` after the block."""
        return self._open.events

    @property
    def calls(self) -> DurableCalls:
        """Where durable calls lie, for the functions themselves; raises `NotConnectedError` after the block."""
        return self._open.calls

    @property
    def _open(self) -> Producing:
        if self._stores is None:
            raise not_connected(self._context)
        return self._stores

    async def reach(self, make: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Await a coroutine in the connection's own loop, from whatever loop."""
        if asyncio.get_running_loop() is self.loop:
            return await make()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(make(), self.loop))

    def reach_blocking(self, make: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Wait for a coroutine in the connection's own loop, from another thread."""
        future = asyncio.run_coroutine_threadsafe(make(), self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # a Ctrl-C here must end the call there
            raise

    def stored(self) -> None:
        """Have the worker of this process, if there is one, look for calls now."""
        if self._told is None:
            return
        if running_loop() is self.loop:  # without the write to a socket that wakes a loop from outside
            self._told()
        else:
            self.loop.call_soon_threadsafe(self._told)

    def refuse_blocking(self, name: str) -> None:
        """Raise `NotConnectedError` on the thread of the connection's own loop, which waiting would stop."""
        if running_loop() is self.loop:
            text = (
                f"{name} is a plain function, and would stop the event loop it is called in; "
                f"make it `async def`, or call it on a thread: await asyncio.to_thread({name}, ...)"
            )
            raise NotConnectedError(text)

    def end(self) -> None:
        """Make the client useless; done by `app.connect()` when its block ends."""
        self._stores = None


class SyncStore:
    """An `EventStore` for code without an event loop; each call waits for its answer."""

    def __init__(self, client: Client) -> None:
        """Made by `app.connect_sync()`."""
        self._client = client

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
        return self._client.reach_blocking(lambda: asked)


class SyncClient:
    """What `app.connect_sync()` gives: works until the block ends."""

    def __init__(self, client: Client) -> None:
        """Made by `app.connect_sync()`."""
        self.store = SyncStore(client)


class _Held(NamedTuple):
    """A connection held open by a task of another thread's loop, until `stop` is set there."""

    client: Client
    stop: asyncio.Event


def _refuserunning_loop() -> None:
    if running_loop() is not None:
        raise NotConnectedError("connect_sync() would block the running event loop; use `async with app.connect()`")


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Give the event loop of this thread, `None` where none runs."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@contextmanager
def in_thread(connection: AbstractAsyncContextManager[Client]) -> Iterator[SyncClient]:
    """Hold a connection in one task of a private loop: what is entered in a task must be left in it."""
    _refuserunning_loop()
    opened: Future[_Held] = Future()
    ended: Future[None] = Future()

    async def hold() -> None:
        async with connection as client:
            held = _Held(client, asyncio.Event())
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
        yield SyncClient(held.client)
    finally:
        held.client.loop.call_soon_threadsafe(held.stop.set)
        ended.result()
