"""What processors are made of: resources, found by type, opened once, closed in reverse."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from types import TracebackType
from typing import Any, Self, TypeVar, cast, get_args, get_origin

from wow_ray.handlers.annotations import resolved
from wow_ray.names import nearest
from wow_ray.places import mistake, place, title

ProviderFunction = Callable[..., AsyncIterator[Any]]
T = TypeVar("T")

_log = logging.getLogger("wow_ray.handlers")


@dataclass(frozen=True, slots=True)
class Need:
    """One parameter that wants a resource; an `optional` one has a default, used where nobody provides the type."""

    parameter: str
    type: Any
    optional: bool


@dataclass(frozen=True, slots=True)
class Provider:
    """An async generator function, the type it yields, and the resources it takes."""

    makes: Any
    function: ProviderFunction
    needs: tuple[Need, ...]


def refuse_no_provider(function: Callable[..., Any]) -> None:
    """Raise `DefinitionError` unless the function is an async generator; looks at no annotation, so it can be early."""
    if inspect.isasyncgenfunction(function):
        return
    found = "a sync generator" if inspect.isgeneratorfunction(function) else "no async generator"
    text = f"is {found}; a provider is `async def` with one `yield`, annotated AsyncIterator[...], and undecorated"
    raise mistake(function, text, "WOW-PROVIDER")


def read_provider(function: ProviderFunction) -> Provider:
    """Read what a provider yields and takes.

    Raises:
        DefinitionError: unless it is an async generator annotated `AsyncIterator[T]` or `AsyncGenerator[T, ...]`.
    """
    refuse_no_provider(function)
    if "return" not in getattr(function, "__annotations__", {}):
        raise mistake(function, "does not say what it yields; annotate it -> AsyncIterator[Buyers]", "WOW-PROVIDER")
    hint = resolved(function, "return")
    if get_origin(hint) not in (AsyncIterator, AsyncGenerator):
        raise mistake(function, f"is annotated -> {hint!r}; write -> AsyncIterator[...]", "WOW-PROVIDER")
    parameters = inspect.signature(function).parameters.values()
    return Provider(get_args(hint)[0], function, _needs(function, tuple(parameters), None))


def constructor_needs(cls: type[Any]) -> tuple[Need, ...]:
    """Read what a class's constructor takes."""
    owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
    if owner is object:
        return ()
    constructor = vars(owner)["__init__"]
    return _needs(constructor, tuple(inspect.signature(constructor).parameters.values())[1:], owner)


def _needs(function: Callable[..., Any], parameters: Sequence[Parameter], owner: type[Any] | None) -> tuple[Need, ...]:
    found = []
    for parameter in parameters:
        optional = parameter.default is not Parameter.empty
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            continue
        if parameter.kind is Parameter.POSITIONAL_ONLY:
            text = f"takes {parameter.name!r} by position only; resources are given by name"
            raise mistake(function, text, "WOW-RESOURCE")
        if parameter.annotation is Parameter.empty:
            if optional:
                continue
            text = f"takes {parameter.name!r} without a type; annotate it: resources are found by type"
            raise mistake(function, text, "WOW-RESOURCE")
        found.append(Need(parameter.name, resolved(function, parameter.name, owner), optional))
    return tuple(found)


def check_graph(
    providers: Sequence[Provider],
    processors: Sequence[type[Any]],
    overridden: Collection[Any] = (),
    also_wanted: Collection[Any] = (),
) -> None:
    """Check that every resource can be opened: one provider for each type wanted, none waiting for itself.

    `overridden` are types given from outside (tests), `also_wanted` those that durable methods are called on. Raises
    `DefinitionError` naming both places.
    """
    by_type: dict[Any, Provider] = {}
    for provider in providers:
        other = by_type.setdefault(provider.makes, provider)
        if other is not provider:
            text = (
                f"provides {_named(provider.makes)}, which {title(other.function)} provides already; keep one of them"
            )
            raise mistake(provider.function, text, "WOW-RESOURCE")
    wanted = {need.type for cls in processors for need in constructor_needs(cls)}
    wanted |= {need.type for provider in providers for need in provider.needs} | by_type.keys() | set(also_wanted)
    for override in overridden:
        if override not in wanted:
            raise mistake(override, "is given, but nothing takes or provides it; is it the right type?", "WOW-RESOURCE")
    for cls in processors:
        _check_needs(cls, constructor_needs(cls), by_type, overridden)
    for provider in providers:
        if provider.makes not in overridden:
            _check_needs(provider.function, provider.needs, by_type, overridden)
            _refuse_cycle(provider, by_type, overridden, ())


def _check_needs(
    taker: object, needs: Sequence[Need], by_type: Mapping[Any, Provider], overridden: Collection[Any]
) -> None:
    for need in needs:
        if need.optional or need.type in by_type or need.type in overridden:
            continue
        wanted = _named(need.type)
        text = (
            f"takes {need.parameter}: {wanted}, which nobody provides; add an @app.provide for AsyncIterator[{wanted}]"
        )
        for made, provider in by_type.items():
            if inspect.isclass(made) and need.type in made.__mro__:
                text += f", or annotate {title(provider.function)}, which yields a {_named(made)}, with it"
        raise mistake(taker, text + nearest(wanted, map(_named, by_type)), "WOW-RESOURCE")


def _refuse_cycle(
    provider: Provider, by_type: Mapping[Any, Provider], overridden: Collection[Any], above: tuple[Provider, ...]
) -> None:
    if provider in above:
        way = " -> ".join(title(each.function) for each in (*above[above.index(provider) :], provider))
        raise mistake(provider.function, f"waits for itself: {way}", "WOW-RESOURCE")
    for need in provider.needs:
        if need.type in by_type and need.type not in overridden:
            _refuse_cycle(by_type[need.type], by_type, overridden, (*above, provider))


def _named(wanted: Any) -> str:  # noqa: ANN401 - any type
    return str(getattr(wanted, "__qualname__", None) or wanted)


class Resources:
    """The resources of one process, open while inside `async with`; enter and leave it in one task.

    A resource is opened when the first that needs it is built, after what it takes itself, and once. All are closed
    in reverse order, each also when another fails to close: the errors come together as an `ExceptionGroup`, or are
    logged and noted on the error that ended the block. `overrides` gives instances by type in place of providers.
    """

    def __init__(self, providers: Sequence[Provider], overrides: Mapping[Any, Any] | None = None) -> None:
        """Open nothing yet; the graph is taken as checked."""
        self._providers = {provider.makes: provider for provider in providers}
        self._ready: dict[Any, Any] = dict(overrides or {})
        self._built: dict[type[Any], Any] = {}
        self._open: list[tuple[Provider, AsyncGenerator[Any, None]]] = []
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Begin; nothing is opened before it is needed."""
        return self

    async def build(self, cls: type[T]) -> T:
        """Give the one instance of a processor class, made of the resources its constructor takes."""
        async with self._turn:
            if cls not in self._built:
                self._built[cls] = cls(**await self._arguments(constructor_needs(cls)))
            return cast("T", self._built[cls])

    async def receiver(self, cls: type[T]) -> T:
        """Give what durable methods of a class are called on: the resource, else one made as `build` does."""
        if cls not in self._ready and cls not in self._providers:
            return await self.build(cls)
        async with self._turn:
            return cast("T", await self._resource(cls))

    async def _arguments(self, needs: Sequence[Need]) -> dict[str, Any]:
        known = [
            need for need in needs if not need.optional or need.type in self._ready or need.type in self._providers
        ]
        return {need.parameter: await self._resource(need.type) for need in known}

    async def _resource(self, wanted: Any) -> Any:  # noqa: ANN401 - any type
        if wanted not in self._ready:
            provider = self._providers[wanted]
            arguments = await self._arguments(provider.needs)
            generator = cast("AsyncGenerator[Any, None]", provider.function(**arguments))
            try:
                self._ready[wanted] = await anext(generator)
            except StopAsyncIteration:
                raise mistake(provider.function, "ended without a yield", "WOW-PROVIDER") from None
            except Exception as error:
                error.add_note(f"while opening {_named(wanted)}: {title(provider.function)}")
                raise
            self._open.append((provider, generator))
        return self._ready[wanted]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close everything; see the class for what happens to errors."""
        failures: list[BaseException] = []
        while self._open:
            provider, generator = self._open.pop()
            try:
                await _finish(provider, generator)
            except BaseException as failure:  # noqa: BLE001 - the rest must be closed first
                failure.add_note(f"while closing {_named(provider.makes)}: {title(provider.function)}")
                failures.append(failure)
        _report(failures, error)


async def _finish(provider: Provider, generator: AsyncGenerator[Any, None]) -> None:
    try:
        await anext(generator)
    except StopAsyncIteration:
        return
    await generator.aclose()
    raise mistake(provider.function, "yields more than once", "WOW-PROVIDER")


def _report(failures: Sequence[BaseException], error: BaseException | None) -> None:
    ending = next((failure for failure in failures if not isinstance(failure, Exception)), error)
    if ending is None and failures:
        raise ExceptionGroup("resources did not close", [each for each in failures if isinstance(each, Exception)])
    for failure in failures:
        if failure is not ending and ending is not None:
            _log.error("a resource did not close", exc_info=failure)
            ending.add_note(f"also, a resource did not close: {failure!r} ({place(type(failure))})")
    if ending is not None and ending is not error:
        raise ending
