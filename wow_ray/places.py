"""Where something was written, so that an error about it can be clicked on."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from wow_ray.errors import DefinitionError


def place(target: Any) -> str:  # noqa: ANN401 - functions and classes of any kind
    """Give `file:line` of a function or class, relative to the working directory; its module when it has no source."""
    code = getattr(inspect.unwrap(target) if callable(target) else target, "__code__", None)
    try:
        if code is not None:
            file, line = code.co_filename, code.co_firstlineno
        else:
            file, line = inspect.getsourcefile(target) or "?", inspect.getsourcelines(target)[1]
    except (OSError, TypeError):
        return str(getattr(target, "__module__", "?"))
    path = Path(file)
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{line}"


def title(target: Any) -> str:  # noqa: ANN401 - as above
    """Name a function or class and say where it stands: `Notifier.on_paid (shop.py:12)`."""
    return f"{getattr(target, '__qualname__', None) or repr(target)} ({place(target)})"


def mistake(target: Any, message: str, code: str) -> DefinitionError:  # noqa: ANN401 - as above
    """Make the error that says what is wrong with how `target` was declared, beginning with its name and place."""
    return DefinitionError(f"{title(target)}: {message}", code)
