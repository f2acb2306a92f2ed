"""The pull request's figures are those of the committed results."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from docs.pages import ROOT
from fakes.measured_arms import AGAIN, BASELINE, measured
from page_size_eval.arms import Arm
from page_size_eval.comparison.comparison import compare
from page_size_eval.serving.metrics import ContextPrefill
from scripts import regions, write_pull_request

PAGE = ROOT / "docs/upstream/pull_request.md"
# Of upstream's template.
HEADINGS = [
    "Motivation",
    "Modifications",
    "Accuracy Tests",
    "Benchmarking and Profiling",
    "Checklist",
]
RECIPE = {
    "model": "tiny_model",
    "task": "gsm_tiny",
    "hardware": "CPU, reference kernels",
    "chunk": 256,
    "planted_defect": None,
    "versions": {"sglang": "0.5.23"},
}


def test_page_is_as_it_would_be_written() -> None:
    script = ROOT / "scripts/write_pull_request.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_page_has_the_headings_of_the_template_and_says_what_was_not_run() -> None:
    text = PAGE.read_text()
    assert re.findall(r"^## (.+)$", text, re.M) == HEADINGS
    assert "**Not run on MI355X" in text and "**Not measured on an AMD GPU" in text


def test_accuracy_shows_what_a_run_writes() -> None:
    arms = [
        measured(BASELINE, 400),
        measured(AGAIN, 400, [7]),
        measured(Arm(16), 400, range(100), prefill=ContextPrefill(9, {"late": 2})),
    ]
    written = json.loads(json.dumps(compare(arms).as_json()))
    recipe = {**RECIPE, "planted_defect": "page_granular"}
    shown = write_pull_request.show_accuracy(
        [{"recipe": recipe, "comparison": written}]
    )
    assert "**planted defect page_granular**" in shown
    (row,) = re.findall(r"^\| page 16 \|.*$", shown, re.M)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:6] == ["page 16", "400", "0.7500", "0.7500", "9", "2"]
    assert cells[6].startswith("-25.00 [-") and cells[7:] == ["100 / 0", "worse"]
    assert re.search(r"^\| page 1 \|.*\| baseline \|$", shown, re.M)
    assert written["conclusion"] in shown


def test_speed_is_computed_from_the_times() -> None:
    def line(path: str, row_bytes: int, tokens: int, us: float) -> dict[str, object]:
        wall = {"us": us}
        return {"path": path, "row_bytes": row_bytes, "tokens": tokens, "wall": wall}

    times = {"0.5.19": 9000.0, "0.5.23": 3000.0, "ours": 1500.0}
    shapes = [
        (row_bytes, tokens)
        for row_bytes in write_pull_request.ROW_BYTES
        for tokens in write_pull_request.TOKENS
    ]
    gather = {
        "environment": {"gpu": "G", "torch": "t", "triton": "r"},
        "forward": [line(p, *shape, us) for p, us in times.items() for shape in shapes],
        "indices": [
            {"path": "0.5.19", "synchronisations": 5},
            {"path": "ours", "synchronisations": 0},
        ],
    }
    shown = write_pull_request.show_speed(gather, {"prefill": [{"share": 0.004}]})
    assert shown.count("| 9.00 | 3.00 | 1.50 | 6.00x | 2.00x |") == len(shapes)
    assert "ordinary batch: 0, in 0.5.19 5 per layer" in shown
    assert "at most 0.4 %" in shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- one -->\n<!-- /one -->\n", "expected the regions one, two"),
        ("<!-- one -->\n<!-- /one -->\n<!-- two -->\n", "expected <!-- /two -->"),
    ],
)
def test_page_without_its_regions_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regions.fill(text, {"one": "1", "two": "2"})


def test_regions_are_replaced_and_the_rest_is_kept() -> None:
    text = "a\n<!-- one -->\nold\nolder\n<!-- /one -->\nb\n"
    filled = regions.fill(text, {"one": r"new \1"})
    assert filled == "a\n<!-- one -->\nnew \\1\n<!-- /one -->\nb\n"
    assert regions.fill(filled, {"one": r"new \1"}) == filled
