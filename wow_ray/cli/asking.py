"""Commands that look at a store or ask something of it: found, opened, asked, shown, in one place."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from inspect import Parameter
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import typer
from rich.console import Console

from wow_ray.cli.exits import Exit
from wow_ray.cli.given import gathered, parameters_of
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


def asks(show: Show[T], ends: Callable[[T], Exit] = lambda _: Exit.DONE) -> Callable[[Ask[P, T]], Callable[..., None]]:
    """Make a command of a coroutine that is given `Operations`: what it answers is shown, or written as JSON.

    The command's own parameters come first, then those by which every such command finds its store. One that has
    written its answer itself answers `None`. `ends` gives the exit code that an answer stands for.
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
            if (code := ends(answer)) is not Exit.DONE:
                raise typer.Exit(code)

        command.__name__, command.__doc__ = ask.__name__, ask.__doc__
        command.__signature__ = _signature(ask)  # type: ignore[attr-defined] # what inspect looks for
        return command

    return decorate


async def _asked(where: Where, ask: Callable[..., Awaitable[T | None]], own: dict[str, Any]) -> T | None:
    """Find the store, open it, ask."""
    found = where.found()
    async with open_operations(found.database, found.spec) as operations:
        return await ask(operations, **gathered(ask, own))


def _signature(ask: Callable[..., Any]) -> inspect.Signature:
    """Give the parameters of the command, all by name but those that are positional on the command line."""
    parameters = list(parameters_of(ask))
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in _COMMON.items()
    ]
    # What has no default goes first, where Python asks for that.
    return inspect.Signature(sorted(parameters, key=lambda each: each.default is not Parameter.empty))
