"""Whether what an author calls a classifier can be one."""

from __future__ import annotations

import inspect

from wow_ray.places import mistake


def refuse_no_classifier(classify: object) -> None:
    """Raise `DefinitionError` (`WOW-CLASSIFIER`) for what cannot be called with an error and a subscription's name."""
    wanted = "a classifier takes (error, subscription) and answers a Category or None"
    if not callable(classify):
        raise mistake(classify, f"is no function; {wanted}", "WOW-CLASSIFIER")
    try:
        signature = inspect.signature(classify)
    except ValueError:
        return  # written in C; it shows when it is asked
    try:
        signature.bind(ValueError(), "Notifier.on_paid")
    except TypeError as error:
        raise mistake(classify, f"has other parameters ({error}); {wanted}", "WOW-CLASSIFIER") from None
