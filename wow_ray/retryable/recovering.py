"""`recover`: who answers in place of a function whose calls all failed, and whether it fits (F1).

Named by `recover=`, or a `@recover` method of the same class. One that does not fit is refused when it is defined; in
the seed's Java it silently does nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any, Never, NoReturn, TypeVar, cast, get_args

from wow_ray.errors import DefinitionError
from wow_ray.places import mistake, title
from wow_ray.retryable.target import Target, hint_of, innermost, read_target

F = TypeVar("F", bound=Callable[..., Any])
ANY = Parameter.empty
_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class RecoverMethod:
    """One `@recover` method: its name in the class, and the error it takes."""

    name: str
    error: type[BaseException]
    target: Target


class Recover:
    """What `@recover` makes of a method: called as the method it is, and found by its class."""

    def __init__(self, member: Any) -> None:  # noqa: ANN401 - a function, a classmethod or a staticmethod
        """Keep the member; it is checked when its class is complete."""
        self.member = member
        self.target = read_target(member)

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:  # noqa: ANN401 - what the member gives
        """Bind as the member does."""
        return self.member.__get__(instance, owner)

    def __set_name__(self, owner: type[Any], name: str) -> None:
        """Refuse a method that no retryable function of the class can be recovered by."""
        servable = [target for target in retryable_members(owner) if not unfit(target, self.target, receiver=True)]
        if servable:
            return
        reasons = [f"{target.name}: {unfit(target, self.target, receiver=True)}" for target in retryable_members(owner)]
        said = "; ".join(reasons) or "the class has no @retryable method"
        raise mistake(
            self.target.function, f"@recover fits no @retryable method of {owner.__qualname__} ({said})", "WOW-F1"
        )


def recover(f: F, /) -> F:
    """Make a method the one that answers when calls of a `@retryable` method of its class have all failed (F1).

    It takes the error first, then the same parameters, and returns the same type; of several the one for the nearest
    error type is called, once. Put it outermost, above `@classmethod` and `@staticmethod`.

    Raises:
        DefinitionError: when the class is made and it fits none of its retryable methods.
    """
    return cast("F", Recover(f))


def retryable_members(owner: type[Any]) -> list[Target]:
    """Give the retryable functions that a class has, its own and inherited ones."""
    names = dict.fromkeys(name for base in owner.__mro__ for name in vars(base))
    members = (inspect.getattr_static(owner, name) for name in names)
    return [member.target for member in members if getattr(type(member), "__wow_retryable__", False)]


def recover_methods(owner: type[Any], target: Target) -> tuple[RecoverMethod, ...]:
    """Give the `@recover` methods of a class that fit a retryable function of it.

    Raises:
        DefinitionError: when two of them take the same error.
    """
    found: dict[type[BaseException], RecoverMethod] = {}
    for name in dict.fromkeys(name for base in owner.__mro__ for name in vars(base)):
        member = inspect.getattr_static(owner, name)
        if not isinstance(member, Recover) or unfit(target, member.target, receiver=True):
            continue
        method = RecoverMethod(name, error_of(member.target, receiver=True), member.target)
        other = found.setdefault(method.error, method)
        if other is not method:
            text = f"{other.name} and {name} of {owner.__qualname__} both recover it from {method.error.__name__}"
            raise mistake(target.function, f"{text}; keep one", "WOW-F1")
    return tuple(found.values())


def nearest_method(methods: Mapping[type[BaseException], RecoverMethod], error: BaseException) -> RecoverMethod | None:
    """Give the method for the nearest class in the error's MRO, or `None`."""
    return next((methods[cls] for cls in type(error).__mro__ if cls in methods), None)


def check_handed(target: Target, handed: Any, option: str, *, returns: bool = True) -> Target:  # noqa: ANN401 - what was handed over
    """Read a function handed over as `recover=` or `fallback=`.

    Raises:
        DefinitionError: when it does not take (error, *the same parameters) or returns another type.
    """
    try:
        other = read_target(handed)
    except DefinitionError as error:
        raise mistake(target.function, f"{option}=: {error.message}", error.code) from error
    reason = unfit(target, other, receiver=False, returns=returns)
    if reason:
        raise mistake(target.function, f"{option}={title(innermost(handed))} does not fit: {reason}", "WOW-F1")
    return other


def error_of(target: Target, *, receiver: bool) -> type[BaseException]:
    """Give the type of error a recovering function takes; `Exception` where it does not say."""
    parameters = _parameters(target, receiver=receiver)
    hint = hint_of(target.function, parameters[0].name) if parameters else ANY
    return hint if inspect.isclass(hint) and issubclass(hint, BaseException) else Exception


def unfit(target: Target, other: Target, *, receiver: bool, returns: bool = True) -> str:
    """Say why `other` cannot recover `target`; empty = it fits.

    With `receiver` both are members of one class; with `returns` what they return counts too.
    """
    if receiver and other.kind != target.kind:
        return f"one is a {other.kind} member of the class and the other a {target.kind} one"
    if other.is_async and not target.is_async:
        return "it is async, and the function is not"
    if target.signature is None or other.signature is None:
        return ""
    mine, theirs = _parameters(target, receiver=receiver), _parameters(other, receiver=receiver)
    if not theirs or theirs[0].kind in (Parameter.KEYWORD_ONLY, *_VARIADIC):
        return "its first parameter is the error"
    differ = _parameters_differ(target, other, mine, theirs[1:])
    return differ or (_returns_differ(target, other) if returns else "")


def _parameters(target: Target, *, receiver: bool) -> list[Parameter]:
    signature = target.signature or Signature()
    parameters = list(signature.parameters.values())
    return parameters[1:] if receiver and target.kind != "staticmethod" else parameters


def _parameters_differ(target: Target, other: Target, mine: list[Parameter], theirs: list[Parameter]) -> str:
    if [parameter.kind for parameter in theirs] == [Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD]:
        return ""
    if [(parameter.name, parameter.kind) for parameter in mine] != [(each.name, each.kind) for each in theirs]:
        wanted = ", ".join(("error", *(str(each.replace(annotation=ANY, default=ANY)) for each in mine)))
        found = ", ".join(str(each.replace(annotation=ANY, default=ANY)) for each in theirs)
        return f"it takes (error, {found}), not ({wanted})" if found else f"it takes (error), not ({wanted})"
    for parameter in mine:
        own, its = hint_of(target.function, parameter.name), hint_of(other.function, parameter.name)
        if _contradict(own, its):
            return f"{parameter.name} is {_shown(own)} there and {_shown(its)} here"
    return ""


def _returns_differ(target: Target, other: Target) -> str:
    own, its = hint_of(target.function, "return"), hint_of(other.function, "return")
    if its in (Never, NoReturn) or not _contradict(own, its):
        return ""
    members = get_args(own)
    if its in members:  # it gives less than may be given
        return ""
    return f"the function returns {_shown(own)}, and it returns {_shown(its)}"


def _contradict(own: Any, its: Any) -> bool:  # noqa: ANN401 - any types
    if ANY in (own, its) or Any in (own, its):
        return False
    if isinstance(own, str) or isinstance(its, str):
        return isinstance(own, str) and isinstance(its, str) and own.replace(" ", "") != its.replace(" ", "")
    return bool(own != its)


def _shown(hint: Any) -> str:  # noqa: ANN401 - any type
    return hint if isinstance(hint, str) else getattr(hint, "__qualname__", None) or str(hint)
