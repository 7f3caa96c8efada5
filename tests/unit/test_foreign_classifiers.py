"""Classifiers that other installed packages bring (K1)."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from wow_ray.adapters.foreign import foreign_classifiers
from wow_ray.failure import Category
from wow_ray.policy.classify import Classified, Lists, classify

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Lay packages into a folder of the path as an installer does: modules, and what is said of them."""

    def installed(package: str, source: str, **points: str) -> None:
        module = package.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {module}:{attribute}" for name, attribute in points.items()]
        (info / "entry_points.txt").write_text("[wow_ray.classifiers]\n" + "\n".join(lines) + "\n")
        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(str(tmp_path))
    return installed


CARRIER = """
from wow_ray import Category

class CarrierDown(Exception):
    pass

def classify(error, subscription):
    return Category.SYSTEMIC if isinstance(error, CarrierDown) else None
"""


def test_an_installed_package_is_asked_after_our_own_modules(install: Install) -> None:
    """K1: its opinion counts as a module's, under the name of its entry point."""
    install("acme-foreign-carrier", CARRIER, carrier="classify")
    found = foreign_classifiers()
    module = importlib.import_module("acme_foreign_carrier")

    assert [(each.name, each.package) for each in found] == [("carrier", "acme-foreign-carrier")]
    judged = classify(module.CarrierDown(), "Shop.on_paid", Lists(), (), found, lambda *_: None)
    assert judged == Classified(Category.SYSTEMIC, "module:carrier")


def test_they_are_sorted_by_name_and_a_broken_one_is_left_out_and_named(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    """K1, K8: the order does not depend on the installer; the log names the package of one that cannot be loaded."""
    install("zeta-foreign", CARRIER, b_first="classify")
    install("alpha-foreign", CARRIER, c_last="classify", a_missing="nowhere")
    install("broken-foreign", "raise RuntimeError('at import')", a_broken="classify")
    install("odd-foreign", "classify = 7", a_number="classify")

    with caplog.at_level(logging.ERROR):
        found = foreign_classifiers()

    assert [each.name for each in found] == ["b_first", "c_last"]
    said = [record.getMessage() for record in caplog.records]
    packages = ("broken-foreign", "alpha-foreign", "odd-foreign")
    assert len(said) == 3
    assert all(any(package in line for line in said) for package in packages)


def test_nothing_installed_is_nothing_found() -> None:
    """K1: here, only our own."""
    assert foreign_classifiers() == ()
