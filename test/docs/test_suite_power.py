"""The page on what the suite catches has the figures of the committed results."""

from __future__ import annotations

import subprocess
import sys

from docs.pages import ROOT
from matrix.cells import KILLED, SURVIVED
from page_size_eval.defect import defect_names
from scripts import write_suite_power


def test_page_is_as_it_would_be_written() -> None:
    script = ROOT / "scripts/write_suite_power.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_defect_of_the_catalogue_is_in_the_matrix() -> None:
    shown = write_suite_power.PAGE.read_text()
    missing = [name for name in defect_names() if f"| `{name}` |" not in shown]
    assert not missing, f"{missing}. Next: make defects, as the script's help has it"


def test_matrix_shows_each_level_and_who_caught_it() -> None:
    cells = {
        "helper": {"outcome": SURVIVED},
        "producers": {"outcome": KILLED, "test": "test/a.py::test_reads[16]"},
    }
    document = {
        "tests": {"helper": 3, "producers": 4},
        "defects": {"page_granular": cells},
    }
    shown = write_suite_power.show_matrix(document)
    assert shown.startswith("1 defects.") and "4 at the level producers" in shown
    assert "| `page_granular` | survived | killed |" in shown
    assert (
        "`test_reads` |" in shown and "| killed of reached | 0 of 1 | 1 of 1 |" in shown
    )


def test_equivalents_show_function_change_and_reason() -> None:
    shown = write_suite_power.show_equivalents({"f: - a + b": "both are zero"})
    assert shown == "- `f`: `- a + b`: both are zero."
