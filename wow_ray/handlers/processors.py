"""A processor class as it was registered, and its handlers as they were written."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from math import inf
from typing import Any, Final, cast

from typing_extensions import is_protocol

from wow_ray.errors import DefinitionError
from wow_ray.handlers.inheritance import Method, methods, refuse_annotated_interfaces
from wow_ray.handlers.signature import Kind, Signature, read_signature
from wow_ray.handlers.specs import SMALL_SHARE, Isolation, Processes, Start
from wow_ray.names import checked_name
from wow_ray.places import mistake

PROCESSOR: Final = "__wow_processor__"
STARTS: Final[dict[Kind, Start]] = {"projection": "beginning", "reactor": "end"}


@dataclass(frozen=True, slots=True)
class Declared:
    """What `@app.projection` or `@app.reactor` said of a class. `together`: all its handlers are one group (H3)."""

    cls: type[Any]
    kind: Kind
    name: str
    start: Start
    isolation: Isolation
    together: bool
    processes: Processes


@dataclass(frozen=True, slots=True)
class Handler:
    """One handler as it was written: its subscription, the full former names of it, and what it asks for."""

    subscription: str
    aliases: tuple[str, ...]
    method: Method
    signature: Signature


def declare(
    cls: type[Any],
    kind: Kind,
    *,
    name: str | None,
    start: Start | None,
    together: bool,
    isolation: Isolation = "lane",
    num_cpus: float | None = None,
    num_gpus: float | None = None,
) -> Declared:
    """Check what can be checked before all names exist, and attach the declaration to the class.

    Raises:
        DefinitionError: for what is no class or no concrete one, an illegal option, or an annotated interface (C3).
    """
    if not inspect.isclass(cls):
        raise mistake(cls, f"@app.{kind} is for classes", "WOW-PROCESSOR")
    if is_protocol(cls) or inspect.isabstract(cls):
        raise mistake(cls, f"is abstract; put @app.{kind} on a class that can be made", "WOW-PROCESSOR")
    if start not in (None, "beginning", "end"):
        raise mistake(cls, f"start={start!r} is neither 'beginning' nor 'end'", "WOW-PROCESSOR")
    if isolation not in ("lane", "actor"):
        raise mistake(cls, f"isolation={isolation!r} is neither 'lane' nor 'actor'", "WOW-ISOLATION")
    processes = _processes(cls, isolation, num_cpus, num_gpus)
    try:
        stable = checked_name(cls.__name__ if name is None else name, "a processor")
    except DefinitionError as error:
        raise mistake(cls, error.message, error.code) from error
    refuse_annotated_interfaces(cls)
    declared = Declared(cls, kind, stable, start or STARTS[kind], isolation, together, processes)
    setattr(cls, PROCESSOR, declared)
    return declared


def _processes(cls: type[Any], isolation: Isolation, num_cpus: float | None, num_gpus: float | None) -> Processes:
    """Read what the processes are to have; raises `DefinitionError` where there are none, or what is no amount."""
    for name, amount in (("num_cpus", num_cpus), ("num_gpus", num_gpus)):
        if amount is None:
            continue
        if isolation != "actor":
            raise mistake(cls, f"{name}= is for isolation='actor'; a lane has no process of its own", "WOW-ISOLATION")
        if type(amount) not in (int, float) or not 0 <= amount < inf:
            raise mistake(cls, f"{name}={amount!r} is no amount; write 0 or more, as 0.5", "WOW-ISOLATION")
    if isolation == "actor" and callable(getattr(cls, "on_reset", None)):
        text = "has on_reset, which runs within a transaction of the partition; isolation='actor' has none there"
        raise mistake(cls, text, "WOW-ISOLATION")
    return Processes(SMALL_SHARE if num_cpus is None else float(num_cpus), float(num_gpus or 0.0))


def declared_as(cls: type[Any]) -> Declared | None:
    """Answer how the class itself (not a base of it) was last registered, or `None` when it was not."""
    return cast("Declared | None", vars(cls).get(PROCESSOR))


def read_handlers(declared: Declared) -> tuple[Handler, ...]:
    """Read the handlers of a processor class; all names they mention must exist by now.

    Raises:
        DefinitionError: for a class without handlers, or the first mistake in one.
    """
    found = tuple(
        Handler(
            f"{declared.name}.{method.name}",
            tuple(dict.fromkeys(a if "." in a else f"{declared.name}.{a}" for a in method.mark.aliases)),
            method,
            read_signature(method.function, method.owner, declared.kind),
        )
        for method in methods(declared.cls)
    )
    if not found:
        raise mistake(declared.cls, "has no handlers; put @on_event on a method", "WOW-PROCESSOR")
    return found
