"""`App`: what an author declares, and the one door for producers, `connect`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, overload

from wow_ray.app.connection import (
    Client,
    Producing,
    SyncClient,
    in_thread,
    installed_connector,
    not_connected,
    running_loop,
)
from wow_ray.app.functions import Functions
from wow_ray.errors import DefinitionError
from wow_ray.handlers.classifiers import refuse_no_classifier, refuse_no_masker
from wow_ray.handlers.processors import Declared, declare
from wow_ray.handlers.resolution import Parts, report_warnings, resolve
from wow_ray.handlers.resources import refuse_no_provider
from wow_ray.handlers.specs import AppSpec, Isolation, Start
from wow_ray.names import MAX_NAME, checked_name
from wow_ray.places import mistake
from wow_ray.policy.classifiers import AnyClassifier
from wow_ray.policy.masking import Masker, Masking
from wow_ray.settings import Settings

C = TypeVar("C", bound=type)
P = TypeVar("P", bound=Callable[..., AsyncIterator[Any]])
K = TypeVar("K", bound=AnyClassifier)
M = TypeVar("M", bound=Masker)


class App(Functions):
    """One bounded context: its processors, their resources, its classifiers.

    Declaring attaches and collects, nothing more; `resolved` reads everything when all names exist. `settings` is the
    weakest source of settings, nested as in `wow-ray.toml`. `key_prefix` goes before every invocation key, for apps
    that share what they call (H28). `classifiers` are asked in order, before those added with `@app.classifier`.
    """

    def __init__(
        self,
        context: str,
        *,
        settings: Mapping[str, Any] | None = None,
        key_prefix: str = "",
        classifiers: Sequence[AnyClassifier] = (),
    ) -> None:
        """Take the stable name of the context; raises `DefinitionError` when it may not be stored."""
        self.context = checked_name(context, "a context")
        self.settings: Mapping[str, Any] = dict(settings or {})
        if not key_prefix.isprintable() or len(key_prefix) > MAX_NAME:
            raise DefinitionError(f"key_prefix={key_prefix!r} is no printable text of at most {MAX_NAME}", "WOW-NAME")
        self.key_prefix = key_prefix
        self.folder = Path(sys._getframe(1).f_code.co_filename).resolve().parent  # noqa: SLF001 - the one way to ask
        """Where the file lies that says `App(...)`: `wow-ray.toml` is looked for there."""
        self._processors: dict[type[Any], Declared] = {}
        self._providers: list[Callable[..., AsyncIterator[Any]]] = []
        for classifier in classifiers:
            refuse_no_classifier(classifier)
        self._classifiers: list[AnyClassifier] = list(classifiers)
        self._maskers: list[Masker] = []
        super().__init__()
        self._clients: list[Client] = []
        self._reported: set[str] = set()

    def __repr__(self) -> str:
        """Read as it is written, without settings."""
        return f"App({self.context!r})"

    def provide(self, provider: P) -> P:
        """Declare a resource: an async generator annotated `AsyncIterator[T]` that yields the one `T`.

        Its parameters are other resources, by type. Opened once per process when something needs it, closed on drain.
        Raises `DefinitionError` for anything but an async generator.
        """
        refuse_no_provider(provider)
        self._providers.append(provider)
        return provider

    def classifier(self, classify: K) -> K:
        """Add a classifier: `(error, subscription) -> Category | None`, where `None` is no opinion (K1).

        A plain function is called in a thread, one call at a time; an `async def` is awaited. One that raises, or takes
        more than a second, counts as having no opinion (K8).
        """
        refuse_no_classifier(classify)
        self._classifiers.append(classify)
        return classify

    def masker(self, mask: M) -> M:
        """Add a rule for what operators are shown: `(name, payload) -> payload`, in plain JSON values.

        `name` is that of the event's type or of the durable function. Called in a thread, in the order of declaration
        and before the settings' own rule (`masking`); of one that raises, or takes a second, nothing is shown.
        """
        refuse_no_masker(mask)
        self._maskers.append(mask)
        return mask

    @overload
    def reactor(self, cls: C, /) -> C: ...
    @overload
    def reactor(
        self,
        /,
        *,
        name: str | None = None,
        isolation: Isolation = "lane",
        num_cpus: float | None = None,
        num_gpus: float | None = None,
        start: Start = "end",
        together: bool = False,
    ) -> Callable[[C], C]: ...
    def reactor(
        self,
        cls: C | None = None,
        /,
        *,
        name: str | None = None,
        isolation: Isolation = "lane",
        num_cpus: float | None = None,
        num_gpus: float | None = None,
        start: Start = "end",
        together: bool = False,
    ) -> C | Callable[[C], C]:
        """Register a class whose handlers act on the outside; starts at the end of the log (L5).

        Each handler is a group of its own unless `together` (H3). `name` stays while the class moves or is renamed.
        `isolation="actor"` has the class made and called in processes of its own (on Ray; `num_cpus`, `num_gpus` each),
        for what takes a core or may crash: one call at a time in each, `subscription.concurrency` of them (default 2)
        for each partition. Raises `DefinitionError` for what is wrong with the class; handlers are read at start.
        """

        def register(target: C) -> C:
            declared = declare(
                target,
                "reactor",
                name=name,
                start=start,
                together=together,
                isolation=isolation,
                num_cpus=num_cpus,
                num_gpus=num_gpus,
            )
            return self._register(declared, target)

        return register if cls is None else register(cls)

    @overload
    def projection(self, cls: C, /) -> C: ...
    @overload
    def projection(
        self,
        /,
        *,
        name: str | None = None,
        isolation: Isolation = "lane",
        num_cpus: float | None = None,
        num_gpus: float | None = None,
        start: Start = "beginning",
    ) -> Callable[[C], C]: ...
    def projection(
        self,
        cls: C | None = None,
        /,
        *,
        name: str | None = None,
        isolation: Isolation = "lane",
        num_cpus: float | None = None,
        num_gpus: float | None = None,
        start: Start = "beginning",
    ) -> C | Callable[[C], C]:
        """Register a class that builds a read model; starts at the beginning of the log (L5).

        Its handlers are one group (H3). `name` stays while the class moves or is renamed. `isolation` is as for
        reactors; then there is no `ctx.connection`. Raises `DefinitionError` for what is wrong with the class itself;
        handlers are read at start.
        """

        def register(target: C) -> C:
            declared = declare(
                target,
                "projection",
                name=name,
                start=start,
                together=True,
                isolation=isolation,
                num_cpus=num_cpus,
                num_gpus=num_gpus,
            )
            return self._register(declared, target)

        return register if cls is None else register(cls)

    def _register(self, declared: Declared, cls: C) -> C:
        if cls in self._processors:
            raise mistake(cls, f"is registered with {self!r} twice", "WOW-TWICE")
        self._processors[cls] = declared
        return cls

    def resolved(self, settings: Settings, overridden: Collection[Any] = ()) -> AppSpec:
        """Read and check everything declared, under the host's settings; warnings are logged, each once.

        `overridden` are types of resources given from outside in place of providers. Raises `ConfigurationError`.
        """
        parts = Parts(
            context=self.context,
            key_prefix=self.key_prefix,
            processors=tuple(self._processors.values()),
            providers=tuple(self._providers),
            classifiers=tuple(self._classifiers),
            functions=self.functions({name: each.given() for name, each in settings.functions.items()}),
        )
        masking = Masking(settings.masking_fields(), settings.masking.whole, tuple(self._maskers))
        spec = replace(resolve(parts, settings, overridden), attached=self._attached, masking=masking)
        report_warnings(spec, self._reported)
        return spec

    @property
    def client(self) -> Client:
        """The client of the innermost `connect` now open; raises `NotConnectedError` when there is none.

        In a process that runs the app it is that of the running app, unless something was connected to besides.
        """
        if not self._clients:
            raise not_connected(self.context)
        return self._clients[-1]

    def _door(self) -> Client:
        """Prefer a client of the running loop: it is reached without a hop."""
        loop = running_loop()
        return next((client for client in reversed(self._clients) if client.loop is loop), None) or self.client

    @asynccontextmanager
    async def _connected(self, dsn: str | None) -> AsyncIterator[Client]:
        async with installed_connector()(self, dsn) as stores:
            with self._attached(stores) as client:
                yield client

    @contextmanager
    def _attached(self, stores: Producing, told: Callable[[], None] | None = None) -> Iterator[Client]:
        client = Client(self.context, stores, told)
        self._clients.append(client)
        try:
            yield client
        finally:
            self._clients.remove(client)
            client.end()

    def connect(self, dsn: str | None = None) -> AbstractAsyncContextManager[Client]:
        """Connect to the log: `async with app.connect() as client`. Without a DSN the settings say where it is.

        Raises `NotConnectedError` when it cannot be found, `SchemaError` when it does not fit.
        """
        return self._connected(dsn)

    def connect_sync(self, dsn: str | None = None) -> AbstractContextManager[SyncClient]:
        """Connect from code without an event loop: `with app.connect_sync() as client`.

        A private loop runs in a thread until the block ends. Raises what `connect` does, and `NotConnectedError`
        inside a running loop, which it would block.
        """
        return in_thread(self._connected(dsn))
