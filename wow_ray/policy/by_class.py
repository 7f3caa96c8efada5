"""Which errors are judged by their class alone, so that the judgement need be made only once for each class.

Asking everybody who may know something of an error costs more than a failed call does. Most of them have nothing to go
by but its class: it has no cause, carries no attribute that anybody looks at, and nobody looks closer at errors of its
class. Two such errors of one class mean the same to a handler, whatever their texts and other attributes (K1, K2, K4).
Every classifier asked must say what it `Looks` at; where one does not, nothing here holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wow_ray.failure import is_wrapper
from wow_ray.raised import attributes_of, cause_of

MOST = 1_024
"""How many classes are remembered; programs that make classes as they go begin anew then."""


def _never(cls: type[BaseException]) -> bool:  # noqa: ARG001 - as `Looks.closer`
    return False


@dataclass(frozen=True, slots=True)
class Looks:
    """What one classifier goes by besides an error's class.

    `attributes`: their names, on whatever error they are found. `closer(cls)`: whether of errors of this class it looks
    at more, such as the text, the arguments or a number. It answers for all subclasses, as the classifier does.
    """

    attributes: frozenset[str] = frozenset()
    closer: Callable[[type[BaseException]], bool] = _never


class ByClass:
    """Tells errors that are judged by their class alone, for all these classifiers together."""

    __slots__ = ("_attributes", "_closer", "_known")

    def __init__(self, looks: Iterable[Looks]) -> None:
        """Know of no class yet."""
        all_of_them = tuple(looks)
        self._attributes: frozenset[str] = frozenset().union(*(each.attributes for each in all_of_them))
        self._closer = tuple(each.closer for each in all_of_them)
        self._known: dict[type[BaseException], bool] = {}

    @property
    def remembered(self) -> int:
        """How many classes are known."""
        return len(self._known)

    def settles(self, error: BaseException) -> bool:
        """Whether every error like this one means what its class means."""
        cls = type(error)
        settled = self._known.get(cls)
        if settled is None:
            if len(self._known) >= MOST:
                self._known.clear()
            settled = self._known[cls] = self._settled(cls)
        return settled and cause_of(error) is None and self._attributes.isdisjoint(attributes_of(error))

    def _settled(self, cls: type[BaseException]) -> bool:
        """Whether errors of the class have what is looked at, if at all, in their own `__dict__`."""
        if issubclass(cls, BaseExceptionGroup) or is_wrapper(cls):
            return False
        if hasattr(cls, "__getattr__") or cls.__getattribute__ is not BaseException.__getattribute__:
            return False
        if any(hasattr(cls, name) for name in self._attributes):
            return False
        return not any(closer(cls) for closer in self._closer)
