"""The AMD backend for SGLang's kit, and a count of what ran."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from producers.platform import load_aiter_backend

load_aiter_backend()

from backend.session import published  # noqa: E402

__all__ = ["published"]

_FOLDER = Path(__file__).parent.name
# By the file that runs them.
_TITLES = {
    "test_attention_unittest.py": "SGLang's attention kit, backend aiter",
    "test_server_kits.py": "SGLang's kits for servers, backend aiter",
}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many cases of the kits ran, were right, and did not apply, and why."""
    for file, title in _TITLES.items():
        outcomes: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for outcome in ("passed", "failed", "error", "skipped", "xfailed", "xpassed"):
            for report in terminalreporter.stats.get(outcome, []):
                if f"/{_FOLDER}/{file}" not in report.nodeid:
                    continue
                outcomes[outcome] += 1
                if outcome in ("skipped", "xfailed"):
                    reasons[_reason(report)] += 1
        if outcomes:
            terminalreporter.section(title)
            _write_counts(terminalreporter, outcomes, reasons)


def _write_counts(
    terminalreporter: pytest.TerminalReporter,
    outcomes: Counter[str],
    reasons: Counter[str],
) -> None:
    run = sum(outcomes.values()) - outcomes["skipped"]
    terminalreporter.line(
        f"{run} run, {outcomes['passed']} right, {outcomes['xfailed']} wrong as known,"
        f" {outcomes['failed'] + outcomes['error'] + outcomes['xpassed']} otherwise;"
        f" {outcomes['skipped']} not applicable"
    )
    for reason, count in reasons.most_common():
        terminalreporter.line(f"  {count:3} {reason}")


def _reason(report: Any) -> str:
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return f"wrong as known: {getattr(report, 'wasxfail', '')}"
