"""SGLang's own runner finds the registered test and runs it as its CI does."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

import pytest

FILE = (
    Path(__file__).resolve().parents[1]
    / "registered/attention/test_aiter_asm_prefill_gather.py"
)
SUITE = "stage-b-test-1-gpu-small-amd"


def test_collect_tests_finds_it_in_stage_b() -> None:
    ci_register = pytest.importorskip("sglang.test.ci.ci_register")
    (entry,) = ci_register.collect_tests([str(FILE)])
    assert entry.backend is ci_register.HWBackend.AMD
    assert entry.effective_suite == SUITE
    assert (entry.disabled, entry.nightly) == (None, False)
    assert 0 < entry.est_time <= 10


def test_runs_as_a_script() -> None:
    """As the suite runner does: the file itself, with -f."""
    done = subprocess.run(
        [sys.executable, str(FILE), "-f"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    ran = re.search(r"^Ran (\d+) tests", done.stderr, re.MULTILINE)
    assert ran and "skipped" not in done.stderr, done.stderr
    cases = unittest.defaultTestLoader.discover(str(FILE.parent), FILE.name)
    assert int(ran[1]) == cases.countTestCases() >= 15
