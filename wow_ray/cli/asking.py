"""Commands that look at a store or ask something of it: found, opened, asked, shown, in one place."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from inspect import Parameter
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, get_type_hints

from rich.console import Console

from wow_ray.cli.options import AppOption, ContextOption, DataDirOption, DebugOption, JsonOption, SettingsOption, Where
from wow_ray.cli.shown import console, document
from wow_ray.cluster import open_operations
from wow_ray.errors import OperationError
from wow_ray.ops import Operations
from wow_ray.ops.views import plain

P = ParamSpec("P")
T = TypeVar("T")

Ask = Callable[Concatenate[Operations, P], Awaitable[T | None]]
Show = Callable[[T, Console], None]

_COMMON: dict[str, Any] = {
    "app": (AppOption, None),
    "context": (ContextOption, None),
    "data_dir": (DataDirOption, None),
    "settings": (SettingsOption, None),
    "as_json": (JsonOption, False),
    "debug": (DebugOption, False),
}


def asks(show: Show[T]) -> Callable[[Ask[P, T]], Callable[..., None]]:
    """Make a command of a coroutine that is given `Operations`: what it answers is shown, or written as JSON.

    The command's own parameters come first, then those by which every such command finds its store. One that has
    written its answer itself answers `None`.
    """

    def decorate(ask: Ask[P, T]) -> Callable[..., None]:
        def command(
            *,
            app: str | None,
            context: str | None,
            data_dir: Path | None,
            settings: Path | None,
            as_json: bool,
            debug: bool,
            **own: Any,  # noqa: ANN401 - the command's own
        ) -> None:
            del debug  # looked at where errors are told
            if as_json and own.get("csv"):
                raise OperationError("--json and --csv are both given; keep one")
            answer = asyncio.run(_asked(Where(app, context, data_dir, settings), ask, own))
            if answer is None:
                return
            if as_json:
                document(plain(answer))
            else:
                show(answer, console())

        command.__name__, command.__doc__ = ask.__name__, ask.__doc__
        command.__signature__ = _signature(ask)  # type: ignore[attr-defined] # what inspect looks for
        return command

    return decorate


async def _asked(where: Where, ask: Callable[..., Awaitable[T | None]], own: dict[str, Any]) -> T | None:
    """Find the store, open it, ask."""
    found = where.found()
    async with open_operations(found.database, found.spec) as operations:
        return await ask(operations, **own)


def _signature(ask: Callable[..., Any]) -> inspect.Signature:
    """Give the parameters of the command, all by name but those that are positional on the command line."""
    hints = get_type_hints(ask, include_extras=True)
    own = list(inspect.signature(ask).parameters.values())[1:]
    parameters = [each.replace(annotation=hints[each.name], kind=Parameter.KEYWORD_ONLY) for each in own]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in _COMMON.items()
    ]
    return inspect.Signature(parameters)
