"""How what takes a function's place is bound to an instance or a class: as the function would be."""

from __future__ import annotations

import functools
from typing import Any, Self

from wow_ray.places import mistake
from wow_ray.retryable.recovering import RecoverMethod, recover_methods
from wow_ray.retryable.target import Target, innermost


class Bindable:
    """Takes the place of a function, also in a class, and knows its `@recover` methods."""

    __wow_retryable__ = True

    def __init__(self, target: Target) -> None:
        """Take over name, docstring, module and `__wrapped__`, so that tools see the function."""
        self.target = target
        self._methods: dict[type[BaseException], RecoverMethod] | None = None
        self._receiver: object = None
        self._before: tuple[Any, ...] = ()
        functools.update_wrapper(self, innermost(target.function))  # type: ignore[arg-type]  # it is called in the end
        self.__wrapped__ = target.function

    def _complete(self, owner: type[Any], *, handed: bool) -> None:
        """Find the `@recover` methods of the class, now that it is complete; raises `DefinitionError`."""
        methods = recover_methods(owner, self.target)
        if methods and handed:
            text = f"names who answers in the end, as does the @recover method {methods[0].name} of its class; keep one"
            raise mistake(innermost(self.target.function), text, "WOW-F1")
        self._methods = {method.error: method for method in methods}

    def _bound(self, receiver: object, before: tuple[Any, ...]) -> Self:
        """Give the same function for one receiver."""
        bound = object.__new__(type(self))
        bound.__dict__.update(self.__dict__)
        bound._receiver, bound._before = receiver, before
        return bound

    def _bind(self, instance: object, owner: type[Any] | None) -> Self:
        """Bind as a function, a classmethod or a staticmethod would."""
        if owner is None:
            owner = type(instance)
        if self._methods is None:
            self._refuse_inside(owner)
        match self.target.kind:
            case "staticmethod":
                return self._bound(owner, ())
            case "classmethod":
                return self._bound(owner, (owner,))
            case "plain":
                return self if instance is None else self._bound(instance, (instance,))

    def _refuse_inside(self, owner: type[Any]) -> None:
        """Refuse what stands below another decorator in a class whose `@recover` methods it would not find (F1)."""
        if recover_methods(owner, self.target):
            raise mistake(
                innermost(self.target.function), "stands below another decorator; put @retryable outermost", "WOW-F1"
            )
