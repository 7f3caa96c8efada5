"""What an exception carries, read as Python itself keeps it.

A class of errors is its author's code: `__getattr__` that looks into a dictionary, a property that asks a server, a
`__module__` that is no text. Whatever that does when it is looked at, one aggregate's error must not end the partition.
So what `BaseException` keeps is read by its own means, past the class, and kinds are asked of the type: unlike
`isinstance`, `issubclass` of a real type asks nothing of the object. Nothing here raises.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, cast

_OWN = vars(BaseException)
_cause, _context, _attributes = (_OWN[name].__get__ for name in ("__cause__", "__context__", "__dict__"))
_suppressed, _traceback = (_OWN[name].__get__ for name in ("__suppress_context__", "__traceback__"))
_members = vars(BaseExceptionGroup)["exceptions"].__get__


def cause_of(error: BaseException) -> BaseException | None:
    """What it was explicitly raised from."""
    return cast("BaseException | None", _cause(error))


def context_of(error: BaseException) -> BaseException | None:
    """What was being handled when it was raised, unless it says that this is of no interest."""
    return None if _suppressed(error) else cast("BaseException | None", _context(error))


def traceback_of(error: BaseException) -> TracebackType | None:
    """Where it was raised."""
    return cast("TracebackType | None", _traceback(error))


def attributes_of(error: BaseException) -> dict[str, Any]:
    """What was set on the error itself, by name."""
    return cast("dict[str, Any]", _attributes(error))


def members_of(error: BaseException) -> tuple[BaseException, ...] | None:
    """The errors of a group; `None` = it is no group."""
    if not issubclass(type(error), BaseExceptionGroup):
        return None
    return cast("tuple[BaseException, ...]", _members(error))


def named(cls: type[BaseException]) -> tuple[str, str]:
    """The module of a class and its qualified name, as texts whatever they are."""
    module = cls.__module__
    return (module if type(module) is str else "", cls.__qualname__)
