"""Classifiers that other installed packages bring, found by their entry points (K1).

A package says in its `pyproject.toml`:

    [project.entry-points."wow_ray.classifiers"]
    carrier = "acme_carrier.failures:classify"
"""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint, entry_points

from wow_ray.policy.classifiers import Foreign

log = logging.getLogger("wow_ray.classifiers")

GROUP = "wow_ray.classifiers"


def foreign_classifiers() -> tuple[Foreign, ...]:
    """Load what is installed now, sorted by name, then by package.

    One that cannot be loaded, or that cannot be called, is logged with its package's name and left out: somebody else's
    mistake stops nobody here.
    """
    found = sorted(entry_points(group=GROUP), key=lambda each: (each.name, _package(each)))
    return tuple(classifier for each in found if (classifier := _loaded(each)) is not None)


def _loaded(entry: EntryPoint) -> Foreign | None:
    package = _package(entry)
    try:
        function = entry.load()
    except (Exception, SystemExit):
        log.exception("the classifier %r of the package %s cannot be loaded and is left out", entry.name, package)
        return None
    if not callable(function):
        log.error("the classifier %r of the package %s is no function and is left out", entry.name, package)
        return None
    return Foreign(entry.name, package, function)


def _package(entry: EntryPoint) -> str:
    """Name the installed package an entry point belongs to."""
    return "?" if entry.dist is None else entry.dist.name
