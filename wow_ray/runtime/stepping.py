"""Calling a handler in a context of its own, without a task of its own.

A coroutine awaited directly shares the worker's `ContextVar`s with the next aggregate's call (tried: a tenant
leaked), and a task per call costs more than the call. So it is stepped by hand inside a copied context: once
directly, which is all that a handler that does not wait needs, and otherwise through `Suspended`, which passes what
the handler waits for to the worker's task (H31).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator
    from contextvars import Context


@final
class Suspended:
    """The rest of a coroutine that has suspended once, to be awaited by the worker."""

    __slots__ = ("_context", "_coroutine", "_waits_for")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], context: Context, waits_for: object) -> None:
        """Take over a coroutine whose first step, made in `context`, answered `waits_for`."""
        self._coroutine = coroutine
        self._context = context
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        """Step on in the same context until it ends; what is thrown in (a cancellation) is thrown into the handler."""
        run, coroutine, waits_for = self._context.run, self._coroutine, self._waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except BaseException as error:  # noqa: BLE001 - handed on to the handler, whatever it is
                    waits_for = run(coroutine.throw, error)
                else:
                    waits_for = run(coroutine.send, sent)
        except StopIteration as end:
            return end.value
        finally:
            coroutine.close()
