"""Options that several commands share, each group of them as one value that a command takes.

A parameter whose type is a subclass of `Options` stands for one option for each of its fields; `asks` writes them into
the command's signature, where Typer looks for them, and hands over the value.
"""

from __future__ import annotations

import getpass
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter
from typing import Annotated, Any, get_type_hints

import typer

from wow_ray.ops import Command

Why = Annotated[str, typer.Option("--reason", help="Why; kept as the audit. Required.")]
Who = Annotated[str | None, typer.Option("--actor", help="Who asks. Default: the user of this process.")]


class Options:
    """Fields, annotated as Typer has them, each of which is an option."""


RequestId = Annotated[
    str | None,
    typer.Option("--request-id", help="Repeating a command with the same one asks once. Default: a new one."),
]


@dataclass(frozen=True, slots=True)
class Given(Options):
    """Who asks and why, once however often it is repeated."""

    reason: Why
    actor: Who = None
    request_id: RequestId = None

    def command(self) -> Command:
        """Put them together."""
        return command_of(self.actor, self.reason, self.request_id, None)


@dataclass(frozen=True, slots=True)
class GivenOnRow(Options):
    """Who asks and why, of something as it was seen."""

    reason: Why
    actor: Who = None
    etag: Annotated[
        int | None, typer.Option("--etag", help="Its etag as you saw it: refused when it has changed since.")
    ] = None
    request_id: RequestId = None

    def command(self) -> Command:
        """Put them together."""
        return command_of(self.actor, self.reason, self.request_id, self.etag)


def command_of(actor: str | None, reason: str, request_id: str | None, etag: int | None) -> Command:
    """Put together who asks and why."""
    return Command(getpass.getuser() if actor is None else actor, reason, request_id, etag)


def parameters_of(ask: Callable[..., Any]) -> Iterator[Parameter]:
    """Give what a command takes on the command line, besides its first parameter; each by name."""
    hints = get_type_hints(ask, include_extras=True)
    for each in list(inspect.signature(ask).parameters.values())[1:]:
        kind = hints[each.name]
        if not _is_group(kind):
            yield each.replace(annotation=kind, kind=Parameter.KEYWORD_ONLY)
            continue
        of_group = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            default = Parameter.empty if field.default is MISSING else field.default
            yield Parameter(field.name, Parameter.KEYWORD_ONLY, annotation=of_group[field.name], default=default)


def gathered(ask: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Put what was given on the command line into the groups that a command takes."""
    hints, left = get_type_hints(ask, include_extras=True), dict(given)
    for name, kind in hints.items():
        if name != "return" and _is_group(kind):
            left[name] = kind(**{field.name: left.pop(field.name) for field in fields(kind)})
    return left


def _is_group(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Options)
