"""A level's tests in this process, up to the first that catches the defect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from page_size_eval.defect import CATALOGUE


class Catcher:
    """A pytest plugin that stops at the first failure which is the test's own.

    Where the defect itself breaks down, in a stand-in that lacks what it needs, nothing
    was caught: such a failure is counted in `broke` and passed over.
    """

    def __init__(self) -> None:
        self.passed = 0
        self.broke = 0
        self.caught: dict[str, str] | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        if report.passed:
            self.passed += report.when == "call"
        elif report.failed and _is_in_catalogue(call.excinfo):
            self.broke += 1
        elif report.failed:
            error = call.excinfo.value
            self.caught = {"test": item.nodeid, "error": type(error).__name__}
            item.session.shouldstop = "caught"
        return report


def _is_in_catalogue(excinfo: Any) -> bool:
    """Whether the exception comes out of a defect's own lines."""
    raised_in = Path(str(excinfo.traceback[-1].path))
    return raised_in.parent == CATALOGUE


def run_tests(arguments: Sequence[str]) -> dict[str, Any]:
    """{passed, broke, caught: {test, error} or None, status} of a run of pytest."""
    # Whether a property fails is all that counts: its least failure may take minutes.
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("catching", phases=phases)
    settings.load_profile("catching")
    catcher = Catcher()
    options = ["-q", "-p", "no:cacheprovider", "--no-header", "-W", "ignore"]
    status = pytest.main([*options, *arguments], plugins=[catcher])
    return {
        "passed": catcher.passed,
        "broke": catcher.broke,
        "caught": catcher.caught,
        "status": int(status),
    }
