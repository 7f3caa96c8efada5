"""What a handler may ask about the call it is in: its optional second argument, always called `ctx`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncpg

    from wow_ray.events import AggregateRef


class Context:
    """One call of a handler.

    `invocation_key` is the same at every attempt, retry, resume and replay of this call: hand it to what you call, so
    that a repeat can be recognised there (L1). `attempt` counts from 1. `subscription` is `Processor.handler`.
    """

    __slots__ = ("attempt", "invocation_key", "ref", "subscription")

    def __init__(self, invocation_key: str, attempt: int, subscription: str, ref: AggregateRef) -> None:
        """Made by the runtime and by the test kit."""
        self.invocation_key = invocation_key
        self.attempt = attempt
        self.subscription = subscription
        self.ref = ref

    def __repr__(self) -> str:
        """Read as the call's key and attempt."""
        return f"<{type(self).__name__} {self.invocation_key} attempt {self.attempt}>"


class ReactContext(Context):
    """One call of a reactor's handler."""

    __slots__ = ()


class ProjectContext(Context):
    """One call of a projection's handler, with a connection whose transaction commits together with the progress.

    What is written through `connection` happens once, however often the call is repeated (L1). The transaction is the
    runtime's: do not commit or roll it back, and do not keep the connection.
    """

    __slots__ = ("connection",)

    def __init__(
        self,
        invocation_key: str,
        attempt: int,
        subscription: str,
        ref: AggregateRef,
        connection: asyncpg.Connection[Any],
    ) -> None:
        """Made by the runtime and by the test kit."""
        super().__init__(invocation_key, attempt, subscription, ref)
        self.connection = connection
