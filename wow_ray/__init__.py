"""Event handling with durable retries on Postgres: what authors and producers import."""

from contextlib import AbstractAsyncContextManager as _Opened

from wow_ray.app import App
from wow_ray.app import install_connector as _install_connector
from wow_ray.bulkhead import Bulkhead
from wow_ray.errors import (
    AppendError,
    BulkheadFullError,
    CommandBusyError,
    ConcurrencyError,
    ConfigurationError,
    ConflictError,
    DefinitionError,
    EmbeddedServerError,
    EventTooLargeError,
    InvalidEventError,
    NotConnectedError,
    NotFoundError,
    OperationError,
    SchemaError,
    SettingsError,
    StoreUnavailableError,
    UndecodableError,
    UnrecoverableHandlingError,
    WaitTimeoutError,
    WowError,
)
from wow_ray.events import Aggregate, AggregateRef, Commit, Event, Scope, StateEvent
from wow_ray.failure import Category
from wow_ray.handlers.contexts import Context, ProjectContext, ReactContext
from wow_ray.handlers.decorators import blocking, on_event, retry
from wow_ray.ports.event_log import EventStore as _EventStore

__all__ = [
    "Aggregate",
    "AggregateRef",
    "App",
    "AppendError",
    "Bulkhead",
    "BulkheadFullError",
    "Category",
    "CommandBusyError",
    "Commit",
    "ConcurrencyError",
    "ConfigurationError",
    "ConflictError",
    "Context",
    "DefinitionError",
    "EmbeddedServerError",
    "Event",
    "EventTooLargeError",
    "InvalidEventError",
    "NotConnectedError",
    "NotFoundError",
    "OperationError",
    "ProjectContext",
    "ReactContext",
    "SchemaError",
    "Scope",
    "SettingsError",
    "StateEvent",
    "StoreUnavailableError",
    "UndecodableError",
    "UnrecoverableHandlingError",
    "WaitTimeoutError",
    "WowError",
    "blocking",
    "on_event",
    "retry",
]


def _connect(app: App, dsn: str | None, /) -> _Opened[_EventStore]:
    from wow_ray.cluster import connect  # noqa: PLC0415 - declaring events must not load a driver; connecting does

    return connect(app, dsn)


_install_connector(_connect)
