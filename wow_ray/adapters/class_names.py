"""Errors of clients that need not be installed, known by the names of their classes."""

from __future__ import annotations

from collections.abc import Mapping

from wow_ray.failure import Category

Meanings = Mapping[str, Category | None]
"""What classes mean, by `package.Class`, wherever in the package they are; `None` = nobody can tell from the class."""


def meaning(error: BaseException, meanings: Meanings) -> Category | None:
    """Look the classes of an error up, the nearest first, as lists do (K2); an entry covers its subclasses."""
    for cls in type(error).__mro__:
        name = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
        if name in meanings:
            return meanings[name]
    return None


def is_a(error: BaseException, *names: str) -> bool:
    """Whether a class of an error has one of these names, given as `package.Class`."""
    return any(f"{cls.__module__.partition('.')[0]}.{cls.__name__}" in names for cls in type(error).__mro__)
