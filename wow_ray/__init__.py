"""Event handling with durable retries on Postgres: what authors and producers import."""

from contextlib import AbstractAsyncContextManager as _Opened

from wow_ray.adapters.clock import SystemClock as _SystemClock
from wow_ray.adapters.clock import block as _block
from wow_ray.adapters.ids import time_ordered_ids as _time_ordered_ids
from wow_ray.app import App
from wow_ray.app import install_connector as _install_connector
from wow_ray.app.connection import Producing as _Producing
from wow_ray.bulkhead import Bulkhead
from wow_ray.errors import (
    AppendError,
    BulkheadFullError,
    CallError,
    CallFailedError,
    CannotTravelError,
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
from wow_ray.policy.durable_call import CallState
from wow_ray.retryable.current import CurrentCall, current_call
from wow_ray.retryable.decorator import retryable
from wow_ray.retryable.durable import Durable
from wow_ray.retryable.handles import CallHandle
from wow_ray.retryable.recovering import recover
from wow_ray.retryable.surroundings import Surroundings as _Surroundings
from wow_ray.retryable.surroundings import install as _install_surroundings

__all__ = [
    "Aggregate",
    "AggregateRef",
    "App",
    "AppendError",
    "Bulkhead",
    "BulkheadFullError",
    "CallError",
    "CallFailedError",
    "CallHandle",
    "CallState",
    "CannotTravelError",
    "Category",
    "CommandBusyError",
    "Commit",
    "ConcurrencyError",
    "ConfigurationError",
    "ConflictError",
    "Context",
    "CurrentCall",
    "DefinitionError",
    "Durable",
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
    "current_call",
    "on_event",
    "recover",
    "retry",
    "retryable",
]


def _connect(app: App, dsn: str | None, /) -> _Opened[_Producing]:
    from wow_ray.cluster import connect  # noqa: PLC0415 - declaring events must not load a driver; connecting does

    return connect(app, dsn)


_install_connector(_connect)
_install_surroundings(_Surroundings(_SystemClock().sleep, _block, _time_ordered_ids(_SystemClock())))
