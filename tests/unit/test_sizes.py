"""The limits on sizes hold, and the baseline can only shrink."""

from pathlib import Path

import pytest

from tests.sizes import BASELINE, ROOT, Allowance, complaints


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with one module of 320 lines, in it one function of 70."""
    package = tmp_path / "wow_ray"
    package.mkdir()
    body = "".join(f"    x = {line}\n" for line in range(69))
    (package / "long.py").write_text("def f() -> None:\n" + body + "\n" * 250, encoding="utf-8")
    return tmp_path


def test_this_project_is_within_its_limits() -> None:
    """Modules stay under 300 lines and functions under 60, or stand in the baseline with a reason."""
    assert complaints(ROOT, BASELINE) == []


def test_what_is_too_long_is_named(tree: Path) -> None:
    """A module and a function over the limit are both reported, with their sizes."""
    assert complaints(tree, {}) == [
        "wow_ray/long.py has 320 lines, 300 are allowed: split it by idea",
        "wow_ray/long.py:f has 70 lines, 60 are allowed: split it by idea",
    ]


def test_a_baseline_entry_allows_exactly_the_present_size(tree: Path) -> None:
    """What is over the limit may stay with a reason; growing is refused, shrinking must be written down."""
    reason = "a table"
    assert (
        complaints(tree, {"wow_ray/long.py": Allowance(320, reason), "wow_ray/long.py:f": Allowance(70, reason)}) == []
    )
    assert complaints(
        tree, {"wow_ray/long.py": Allowance(330, reason), "wow_ray/long.py:f": Allowance(61, reason)}
    ) == [
        "wow_ray/long.py:f grew from 61 to 70 lines: it may only shrink",
        "wow_ray/long.py shrank to 320 lines: lower its entry in BASELINE",
    ]


def test_a_baseline_entry_goes_when_it_is_not_needed(tmp_path: Path) -> None:
    """An entry without code over the limit, or without a reason, is refused."""
    assert complaints(tmp_path, {"wow_ray/gone.py": Allowance(400, "")}) == [
        "wow_ray/gone.py is within the limit now: remove it from BASELINE",
        "wow_ray/gone.py stands in BASELINE without a reason",
    ]
