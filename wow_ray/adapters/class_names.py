"""Errors of clients that need not be installed, known by the names of their classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from wow_ray.failure import Category
from wow_ray.raised import named

Meanings = Mapping[str, Category | None]
"""What classes mean, by `package.Class`, wherever in the package they are; `None` = nobody can tell from the class."""


def meaning(error: BaseException, meanings: Meanings) -> Category | None:
    """Look the classes of an error up, the nearest first, as lists do (K2); an entry covers its subclasses."""
    name = next((name for name in _names(type(error).__mro__) if name in meanings), None)
    return None if name is None else meanings[name]


def is_a(error: BaseException, *names: str) -> bool:
    """Whether a class of an error has one of these names, given as `package.Class`."""
    return is_class(type(error), *names)


def is_class(cls: type[BaseException], *names: str) -> bool:
    """Whether a class, or one above it, has one of these names."""
    return not _names(cls.__mro__).keys().isdisjoint(names)


@lru_cache(maxsize=1_024)
def _names(classes: tuple[type[Any], ...]) -> dict[str, None]:
    """Give the names of classes, in order."""
    return dict.fromkeys(f"{named(cls)[0].partition('.')[0]}.{cls.__name__}" for cls in classes)
