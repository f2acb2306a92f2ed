"""A run of tests that stops at the first failure which is a test's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from matrix.levels import ROOT

PROGRAM = """
import json, sys
from pathlib import Path
import matrix.catching
matrix.catching.CATALOGUE = Path(sys.argv[1])
print(json.dumps(matrix.catching.run_tests(sys.argv[2:])))
"""


def run(tmp_path: Path, tests: str) -> dict[str, Any]:
    catalogue = tmp_path / "catalogue"
    catalogue.mkdir()
    (catalogue / "a_defect.py").write_text("def broken():\n    return {}['missing']\n")
    file = tmp_path / "test_it.py"
    head = f"import sys\nsys.path.insert(0, {str(catalogue)!r})\nimport a_defect\n"
    file.write_text(head + tests)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(catalogue), str(file)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": ":".join(map(str, (ROOT, ROOT / "python", ROOT / "test")))},
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_first_failure_is_caught_and_ends_the_run(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "def test_a(): pass\ndef test_b(): assert 1 == 2\ndef test_c(): 1 / 0\n",
    )
    assert result["caught"]["error"] == "AssertionError"
    assert result["caught"]["test"].endswith("::test_b")
    assert result["passed"] == 1


def test_a_defect_that_breaks_down_is_not_caught(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "def test_a(): a_defect.broken()\ndef test_b(): pass\n",
    )
    assert (result["caught"], result["broke"], result["passed"]) == (None, 1, 1)


def test_tests_behind_a_defect_that_breaks_down_still_catch(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "def test_a(): a_defect.broken()\ndef test_b(): raise ValueError\n",
    )
    assert result["caught"]["error"] == "ValueError"


def test_nothing_is_caught_where_all_pass(tmp_path: Path) -> None:
    result = run(tmp_path, "def test_a(): pass\ndef test_b(): pass\n")
    assert result == {"passed": 2, "broke": 0, "caught": None, "status": 0}
