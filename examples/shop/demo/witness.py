"""A witness between the runtime and the handlers: every call, how it ended, in the order they ended."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple

from wow_ray import Event
from wow_ray.handlers.contexts import Context

Handler = Callable[[Any, Event[Any], Context], Awaitable[None]]


class Place(NamedTuple):
    """One event of one aggregate."""

    aggregate: str
    id: str
    version: int
    sequence: int


class Seen(NamedTuple):
    """One call that has ended: of which subscription, for which event, and whether the handler returned."""

    subscription: str
    place: Place
    succeeded: bool


class Witness:
    """Notes the calls of the processors it watches."""

    def __init__(self) -> None:
        """Nothing was seen."""
        self.seen: list[Seen] = []
        self.calls: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.handled: Counter[str] = Counter()
        """Events that were handled, by subscription."""
        self.first: dict[tuple[str, Place], int] = {}
        """When an event was first handled by a subscription, as a place in `seen`."""

    @contextmanager
    def watching(self, *processors: type[Any]) -> Iterator[None]:
        """Stand in front of the handlers (`on_...`) of these classes, until the end of the block."""
        methods = [(cls, name, method) for cls in processors for name, method in vars(cls).items() if name[:3] == "on_"]
        for cls, name, method in methods:
            setattr(cls, name, self._watched(method))
        try:
            yield
        finally:
            for cls, name, method in methods:
                setattr(cls, name, method)

    @property
    def begun(self) -> Counter[str]:
        """Count the events for which each subscription was called, handled or not."""
        return Counter(subscription for subscription, _ in {(each.subscription, each.place) for each in self.seen})

    @property
    def repeats(self) -> Counter[str]:
        """Count the successful calls for events that had been handled before."""
        succeeded = Counter(each.subscription for each in self.seen if each.succeeded)
        succeeded.subtract(self.handled)
        return succeeded

    def _watched(self, method: Handler) -> Handler:
        @wraps(method)
        async def watched(processor: object, event: Event[Any], ctx: Context) -> None:
            succeeded = False
            try:
                await method(processor, event, ctx)
                succeeded = True
            finally:
                self._note(ctx.subscription, event, succeeded=succeeded)

        return watched

    def _note(self, subscription: str, event: Event[Any], *, succeeded: bool) -> None:
        place = Place(event.ref.aggregate, event.ref.id, event.version, event.sequence)
        self.calls[subscription] += 1
        if succeeded:
            if (subscription, place) not in self.first:
                self.first[subscription, place] = len(self.seen)
                self.handled[subscription] += 1
        else:
            self.failed[subscription] += 1
        self.seen.append(Seen(subscription, place, succeeded))
