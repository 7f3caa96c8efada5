"""Exit codes, and how an error is told: one line for people, one document for programs, never a traceback unasked."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from wow_ray.errors import (
    ConfigurationError,
    ConflictError,
    NotConnectedError,
    NotFoundError,
    OperationError,
    StoreUnavailableError,
    WowError,
)


class Exit(IntEnum):
    """What a command's exit code means, the same for all commands."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    CONFLICT = 3
    NOT_FOUND = 4
    UNREACHABLE = 5
    INTERRUPTED = 130


def exit_of(error: BaseException) -> Exit:
    """Give the exit code that an error ends a command with."""
    match error:
        case NotFoundError():
            return Exit.NOT_FOUND
        case ConflictError():
            return Exit.CONFLICT
        case ConfigurationError() | OperationError():
            return Exit.USAGE
        case StoreUnavailableError() | NotConnectedError():
            return Exit.UNREACHABLE
        case KeyboardInterrupt():
            return Exit.INTERRUPTED
        case _:
            return Exit.FAILED


def message_of(error: BaseException) -> tuple[str, str]:
    """Give an error's stable code and what it says; one that is not ours has the code of its class."""
    if isinstance(error, WowError):
        return error.code, error.message
    said = str(error) or "no text"
    return type(error).__name__, f"{said} (unexpected; --debug shows where)"


def error_document(error: BaseException) -> dict[str, Any]:
    """Give an error as the one JSON document of a command that failed."""
    code, message = message_of(error)
    return {"error": {"code": code, "message": message, "exit": int(exit_of(error))}}
