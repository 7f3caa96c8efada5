"""Those who may be asked what an error means, as types (K1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from wow_ray.failure import Category
from wow_ray.policy.by_class import Looks

Classifier = Callable[[BaseException, str], Category | None]
"""Answers what an error means to a subscription; `None` = no opinion."""

AsyncClassifier = Callable[[BaseException, str], Awaitable[Category | None]]
"""The same, where the answer has to be waited for."""

AnyClassifier = Classifier | AsyncClassifier


@dataclass(frozen=True, slots=True)
class Foreign:
    """A classifier that another installed package brings, under the name that its entry point has."""

    name: str
    package: str
    function: AnyClassifier = field(repr=False)

    def __call__(self, error: BaseException, subscription: str) -> Category | Awaitable[Category | None] | None:
        """Ask it."""
        return self.function(error, subscription)


@dataclass(frozen=True, slots=True)
class Module:
    """A classifier of our own, with what it goes by besides an error's class; it neither waits nor hangs."""

    function: Classifier
    looks: Looks

    @property
    def name(self) -> str:
        """The name under which its opinion is shown."""
        return self.function.__name__

    def __call__(self, error: BaseException, subscription: str) -> Category | None:
        """Ask it."""
        return self.function(error, subscription)


class Question(NamedTuple):
    """One classifier, to be asked about one error."""

    classifier: AnyClassifier | Foreign
    error: BaseException


def name_of(classifier: AnyClassifier | Foreign) -> str:
    """Give the name under which a classifier's opinion is shown."""
    if isinstance(classifier, Foreign | Module):
        return classifier.name
    return str(getattr(classifier, "__name__", type(classifier).__name__))
