"""One processor under test: `reactor_spec(processor)` and `projection_spec(processor)`.

`await spec.when_event(ref, body)` calls the handler of that event exactly once, as one attempt would, and answers how
it ended. There are no retries here: handling the same event again shows whether a repeat is safe, with the same
invocation key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from inspect import isawaitable
from typing import Any, TypeVar

from pydantic import BaseModel

from wow_ray.errors import ConfigurationError
from wow_ray.events import AggregateRef, Event, Scope, StateEvent, event_spec
from wow_ray.handlers.contexts import ProjectContext, ReactContext
from wow_ray.handlers.processors import Handler, declared_as, read_handlers
from wow_ray.handlers.states import read_fold
from wow_ray.names import invocation_key
from wow_ray.testing.clock import START
from wow_ray.testing.connection import RecordingConnection

E = TypeVar("E", bound=BaseException)


class Outcome:
    """How one call ended."""

    def __init__(self, error: BaseException | None) -> None:
        """Hold the error, or `None` when the handler returned."""
        self.error = error

    def expect_error(self, error: type[E]) -> E:
        """Answer the error when it is an `error`; raises `AssertionError` saying what was instead."""
        if not isinstance(self.error, error):
            was = "no error" if self.error is None else repr(self.error)
            raise AssertionError(f"expected {error.__name__}, there was {was}") from self.error  # noqa: TRY004 - a test's failure
        return self.error

    def expect_no_error(self) -> None:
        """Raise `AssertionError` when the handler failed, with its error as the cause."""
        if self.error is not None:
            raise AssertionError(f"expected no error, there was {self.error!r}") from self.error


class ProcessorSpec:
    """Calls the handlers of one processor; made by `reactor_spec` and `projection_spec`."""

    def __init__(self, processor: object, connection: Any) -> None:  # noqa: ANN401 - an asyncpg connection or a double of one
        """Read the processor's handlers; raises `ConfigurationError` when its class was not declared."""
        declared = declared_as(type(processor))
        if declared is None:
            name = type(processor).__qualname__
            raise ConfigurationError(
                f"{name} is no processor: put @app.reactor or @app.projection on the class", "WOW-TESTING"
            )
        self._processor = processor
        self._handlers = read_handlers(declared)
        self._history: dict[AggregateRef, list[BaseModel]] = {}
        self.connection = connection

    async def when_event(
        self,
        ref: AggregateRef,
        body: BaseModel,
        *,
        version: int = 1,
        sequence: int = 0,
        tenant_id: str | None = None,
        owner_id: str | None = None,
        occurred_at: datetime = START,
        headers: Mapping[str, str] | None = None,
        given: Sequence[BaseModel] = (),
        attempt: int = 1,
    ) -> Outcome:
        """Call the handler of this event once.

        `given` are the aggregate's earlier events, for handlers that want its state. Several handlers of the type (a
        reactor's are independent) are called in the order they were written, and the first error is the outcome.
        Raises `ConfigurationError` when no handler takes the event.
        """
        spec = event_spec(type(body))
        name = None if spec is None else spec.name
        if spec is None or spec.aggregate != ref.aggregate:
            raise ConfigurationError(f"{type(body).__qualname__} is no event of {ref.aggregate!r}", "WOW-TESTING")
        taken = [handler for handler in self._handlers if _takes(handler, spec.aggregate, name)]
        if not taken:
            raise ConfigurationError(f"{type(self._processor).__qualname__} has no handler for {name!r}", "WOW-TESTING")
        scope = Scope(tenant_id, owner_id)
        event: Event[Any] = Event(body, ref, scope, version, sequence, occurred_at, dict(headers or {}))
        error: BaseException | None = None
        for handler in taken:
            error = error or await self._call(handler, event, given, attempt)
        return Outcome(error)

    async def _call(
        self, handler: Handler, event: Event[Any], given: Sequence[BaseModel], attempt: int
    ) -> BaseException | None:
        signature, ref = handler.signature, event.ref
        argument: Any = event
        if signature.body_only:
            argument = event.body
        elif signature.state is not None:
            fold, state = read_fold(signature.state), signature.state()
            for earlier in (*given, event.body):
                known = event_spec(type(earlier))
                state = state.apply(earlier) if known is not None and known.name in fold.events else state
            argument = StateEvent(
                event.body, ref, event.scope, event.version, event.sequence, event.occurred_at, event.headers, state
            )
        key = invocation_key(handler.subscription, ref.id, event.version, event.sequence)
        arguments: list[Any] = [argument]
        if signature.context is not None:
            context = (
                ProjectContext(key, attempt, handler.subscription, ref, self.connection)
                if signature.context is ProjectContext
                else ReactContext(key, attempt, handler.subscription, ref)
            )
            arguments.append(context)
        try:
            answer = getattr(self._processor, handler.method.name)(*arguments)
            if isawaitable(answer):
                await answer
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and (task := asyncio.current_task()) and task.cancelling():
                raise
            return error
        return None


def _takes(handler: Handler, aggregate: str, name: str | None) -> bool:
    signature = handler.signature
    return signature.aggregate == aggregate and (
        not signature.events or name in {spec.name for spec in signature.events}
    )


def reactor_spec(processor: object) -> ProcessorSpec:
    """Test one reactor, made with fakes for what it calls."""
    return ProcessorSpec(processor, RecordingConnection())


def projection_spec(processor: object, *, connection: Any = None) -> ProcessorSpec:  # noqa: ANN401 - an asyncpg connection or a double
    """Test one projection; its `ctx.connection` is `connection`, or else a double that records statements."""
    return ProcessorSpec(processor, RecordingConnection() if connection is None else connection)
