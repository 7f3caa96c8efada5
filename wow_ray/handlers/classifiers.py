"""Whether what an author calls a classifier, or a masker, can be one."""

from __future__ import annotations

import inspect

from wow_ray.places import mistake


def refuse_no_classifier(classify: object) -> None:
    """Raise `DefinitionError` (`WOW-CLASSIFIER`) for what cannot be called with an error and a subscription's name."""
    wanted = "a classifier takes (error, subscription) and answers a Category or None"
    _refuse(classify, (ValueError(), "Notifier.on_paid"), wanted, "WOW-CLASSIFIER")


def refuse_no_masker(mask: object) -> None:
    """Raise `DefinitionError` (`WOW-MASKER`) for what is not called with a name and a payload, or is to be awaited."""
    wanted = "a masker takes (name, payload) and gives the payload that may be shown"
    _refuse(mask, ("order_paid", {}), wanted, "WOW-MASKER")
    if inspect.iscoroutinefunction(mask) or inspect.iscoroutinefunction(getattr(mask, "__call__", None)):  # noqa: B004
        raise mistake(mask, f"is an async def; {wanted}, at once", "WOW-MASKER")


def _refuse(function: object, arguments: tuple[object, ...], wanted: str, code: str) -> None:
    """Raise for what cannot be called so."""
    if not callable(function):
        raise mistake(function, f"is no function; {wanted}", code)
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # written in C; it shows when it is asked
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise mistake(function, f"has other parameters ({error}); {wanted}", code) from None
