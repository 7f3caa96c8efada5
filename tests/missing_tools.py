"""In CI a test that is skipped for want of a tool fails instead: CI installs the tools, so none may be missing.

Elsewhere such a skip, whose reason begins with "missing tool:" and says how to install it, stays a skip.
"""

import os
from collections.abc import Generator
from typing import Any

import pytest

REASON = "Skipped: missing tool:"


def refuse(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn the report of a skip for a missing tool into one of a failure, under `WOW_RAY_CI`."""
    if os.environ.get("WOW_RAY_CI") and report.skipped and isinstance(report.longrepr, tuple):
        _, _, reason = report.longrepr
        if reason.startswith(REASON):
            report.outcome = "failed"
            report.longrepr = f"{reason.removeprefix('Skipped: ')} (WOW_RAY_CI is set: nothing may be missing)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, pytest.TestReport]:
    """Look at each report of a test's set-up, call and tear-down."""
    report: pytest.TestReport = yield
    refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, pytest.CollectReport]:
    """Look at modules that skip themselves as a whole."""
    report: pytest.CollectReport = yield
    refuse(report)
    return report
