"""A missing tool is a skip on a developer's machine and a failure in CI."""

import pytest

from tests.missing_tools import refuse


def skipped(reason: str) -> pytest.TestReport:
    """The report of a test that skipped itself."""
    return pytest.TestReport(
        nodeid="tests/x.py::test_x",
        location=("tests/x.py", 1, "test_x"),
        keywords={},
        outcome="skipped",
        longrepr=("tests/x.py", 1, f"Skipped: {reason}"),
        when="setup",
    )


def test_in_ci_a_missing_tool_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under WOW_RAY_CI a skip for a missing tool fails, and keeps saying how to install it."""
    monkeypatch.setenv("WOW_RAY_CI", "1")
    report = skipped("missing tool: apt-get install pgbouncer")
    refuse(report)
    assert report.failed
    assert "apt-get install pgbouncer" in str(report.longrepr)


def test_in_ci_other_skips_stay_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that does not apply here is skipped in CI as anywhere."""
    monkeypatch.setenv("WOW_RAY_CI", "1")
    report = skipped("needs root")
    refuse(report)
    assert report.skipped


def test_elsewhere_a_missing_tool_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without WOW_RAY_CI nobody has to install a tool to run the other tests."""
    monkeypatch.delenv("WOW_RAY_CI", raising=False)
    report = skipped("missing tool: apt-get install pgbouncer")
    refuse(report)
    assert report.skipped
