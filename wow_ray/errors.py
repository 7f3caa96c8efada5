"""Every error this package raises, one tree under `WowError`.

    WowError
     +- ConfigurationError            the program or its settings are wrong; found at start
     |   +- DefinitionError           a decorator, a handler or a function was declared wrongly
     |   +- SettingsError             a setting has an illegal value or an unknown name
     +- NotConnectedError             an app was used outside `app.connect()`
     +- AppendError                   events were refused by the log
     |   +- ConcurrencyError          the stream is at another version than expected
     |   +- EventTooLargeError        one event is larger than the log accepts
     |   +- InvalidEventError         a body, a reference or a header cannot be stored
     +- CallError                     a durable call was refused, or has no result
     |   +- CannotTravelError         an argument or a result would not come back as it was
     |   +- CallFailedError           the call ended without a result
     +- UndecodableError              a stored event cannot be read by this program
     +- UnrecoverableHandlingError    raised by a handler: park at once, no retry helps
     +- CommandBusyError              the target was too busy for a command (backpressure)
     +- WaitTimeoutError              a wait of ours ran out of time (backpressure)
     +- BulkheadFullError             a bulkhead had no room (backpressure)
     +- SchemaError                   the database's schema does not fit this program
     +- StoreUnavailableError         our own store cannot be reached; retried by the runtime
     +- StoreDataError                our own store refused a write for its data
     +- FencedError                   a slot has a newer owner; this one must stop
     +- OperationError                an operator's request was not carried out
     |   +- NotFoundError             there is no such row, subscription or aggregate
     |   +- ConflictError             the row has changed since it was looked at
     +- EmbeddedServerError           the private server could not be started

Each carries a stable code, shown first in its text and explained in `docs/errors.md`. All arguments are positional,
so an error survives the trip between processes.
"""

from __future__ import annotations

from typing import ClassVar


class WowError(Exception):
    """The root of all errors of this package.

    `code` is stable and looks like `WOW-C3`; the text says what was wrong and what would be right.
    """

    default_code: ClassVar[str] = "WOW"

    def __init__(self, message: str, code: str | None = None) -> None:
        """Keep both arguments positional, so that pickling restores them."""
        super().__init__(message, code)
        self.message = message
        self.code = code or self.default_code

    def __str__(self) -> str:
        """Give the code, then the message."""
        return f"{self.code} {self.message}"


class ConfigurationError(WowError):
    """The program or its settings are wrong; found at start, before anything is handled."""

    default_code = "WOW-CONFIG"


class DefinitionError(ConfigurationError):
    """A decorator, a handler or a function was declared wrongly."""

    default_code = "WOW-DEFINITION"


class SettingsError(ConfigurationError):
    """A setting has an illegal value or an unknown name."""

    default_code = "WOW-SETTINGS"


class NotConnectedError(WowError):
    """The app is not connected; use `async with app.connect()`."""

    default_code = "WOW-CONNECT"


class AppendError(WowError):
    """Events were refused by the log; nothing of the commit was stored."""

    default_code = "WOW-APPEND"


class ConcurrencyError(AppendError):
    """The stream is at another version than expected: `expected` and `actual`."""

    default_code = "WOW-CONCURRENCY"

    def __init__(self, message: str, expected: int | None = None, actual: int | None = None) -> None:
        """Say which version was expected and which one was found (`None` = not known)."""
        super().__init__(message)
        self.args = (message, expected, actual)
        self.expected = expected
        self.actual = actual


class EventTooLargeError(AppendError):
    """One event is larger than the log accepts (1 MB by default)."""

    default_code = "WOW-SIZE"


class InvalidEventError(AppendError):
    """A body, a reference, a scope or a header cannot be stored."""

    default_code = "WOW-EVENT"


class CallError(WowError):
    """A durable call was refused, or has no result."""

    default_code = "WOW-CALL"


class CannotTravelError(CallError):
    """An argument or a result would not come back from the store as it was, or is too large for it."""

    default_code = "WOW-F3"


class CallFailedError(CallError):
    """The call ended without a result: its calls are used up, or it was cancelled or discarded."""

    default_code = "WOW-CALL-FAILED"


class UndecodableError(WowError):
    """A stored event cannot be read by this program; its aggregate is parked, the log keeps it."""

    default_code = "WOW-UNDECODABLE"


class UnrecoverableHandlingError(WowError):
    """Raised by a handler whose failure no retry can get past: the aggregate is parked at once."""

    default_code = "WOW-UNRECOVERABLE"

    def __init__(self, message: str = "no retry can help") -> None:
        """Take an optional text, as any exception does."""
        super().__init__(message)
        self.args = (message,)


class CommandBusyError(WowError):
    """The target of a command was too busy; counts as backpressure."""

    default_code = "WOW-BUSY"


class WaitTimeoutError(WowError):
    """A wait of ours ran out of time; counts as backpressure (a plain `TimeoutError` does not)."""

    default_code = "WOW-WAIT"


class BulkheadFullError(WowError):
    """A bulkhead had no room for the call; counts as backpressure."""

    default_code = "WOW-BULKHEAD"


class SchemaError(WowError):
    """The database's schema does not fit this program; `wow-ray migrate` or a newer program is needed."""

    default_code = "WOW-SCHEMA"


class StoreUnavailableError(WowError):
    """Our own store cannot be reached or refuses all work; the outcome of a write is unknown."""

    default_code = "WOW-STORE"


class StoreDataError(WowError):
    """Our own store refused a write for its data; sent again unchanged it would be refused again."""

    default_code = "WOW-STORE-DATA"


class FencedError(WowError):
    """Slots named in `slots` have a newer owner; what was to be written was not."""

    default_code = "WOW-FENCED"

    def __init__(self, message: str, slots: tuple[int, ...] = ()) -> None:
        """Name the slots that were lost."""
        super().__init__(message)
        self.args = (message, slots)
        self.slots = slots


class OperationError(WowError):
    """An operator's request was not carried out."""

    default_code = "WOW-OPERATION"


class NotFoundError(OperationError):
    """There is no such row, subscription or aggregate."""

    default_code = "WOW-NOT-FOUND"


class ConflictError(OperationError):
    """The row has changed since the operator looked at it; look again and repeat."""

    default_code = "WOW-CONFLICT"


class EmbeddedServerError(WowError):
    """The private server could not be started or found; the text says what to do."""

    default_code = "WOW-EMBEDDED"
