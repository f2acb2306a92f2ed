"""`make env` prints a line for everything, whatever is broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "show_env.py"
LINES = ("python", "sglang", "torch", "aiter", "device", "graft")


def show(*flags: str) -> str:
    done = subprocess.run(
        [sys.executable, *flags, str(SCRIPT)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for name in LINES:
        assert any(line.startswith(name) for line in done.stdout.splitlines()), name
    return done.stdout


def test_reports_every_line() -> None:
    assert "cannot be read" not in show()


def test_still_reports_where_nothing_is_installed() -> None:
    """-S leaves out every installed package."""
    broken = show("-S")
    assert "not installed" in broken and "cannot be read" in broken
