"""What the terminal shows."""

from __future__ import annotations

import io
import re

from rich.console import Console

from page_size_eval.comparison.outcome import Comparison
from page_size_eval.reporting.table import print_report
from page_size_eval.reporting.titles import PROBE_CAVEAT, Title


def show(title: Title, comparison: Comparison) -> list[str]:
    stream = io.StringIO()
    print_report(Console(file=stream, width=80), title, comparison)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def rows(lines: list[str], table: str) -> dict[str, list[str]]:
    """By arm, the cells of the table under this title."""
    start = next(i for i, line in enumerate(lines) if line.startswith(table))
    rule = next(i for i in range(start, len(lines)) if lines[i].startswith("──"))
    body = lines[rule + 1 : lines.index("", rule)]
    cells = [re.split(r"\s{2,}", line) for line in body]
    return {row[0]: row[1:] for row in cells}


def test_each_arm_has_a_line_in_each_table(
    title: Title, comparison: Comparison
) -> None:
    lines = show(title, comparison)
    scores, answers, service = (
        rows(lines, name) for name in ("scores", "answers", "service")
    )
    labels = [score.arm.label for score in comparison.arms]
    assert list(scores) == list(answers) == list(service) == labels
    assert scores["page 1"] == ["400", *["1.0000 [0.990, 1.000]"] * 2]
    # right, wrong, unparsable, truncated, empty, timed out, failed
    assert answers["page 64"] == ["395", "1", "0", "1", "1", "1", "1"]
    assert service["page 1, again"] == ["2", "310", "0", "265", "0"]
    assert service["page 16"] == ["1", "0", "0", "55", "73"]
    assert service["page 256, unpatched"][-2:] == ["not counted", "not counted"]


def test_each_pair_has_a_line_and_a_sentence(
    title: Title, comparison: Comparison
) -> None:
    lines = show(title, comparison)
    pairs = rows(lines, "against page 1, equivalent within 3 points")
    assert pairs["page 1, again"] == [
        "0.0 [-1.0, +1.0]",
        "0 / 0",
        "1.00",
        "equivalent",
    ]
    assert pairs["page 16"][1] == "150 / 0" and pairs["page 16"][3] == "worse"
    assert pairs["page 256, unpatched"][3] == "(worse)"
    for pair in comparison.pairs:
        assert pair.sentence in lines
    assert lines[-1] == comparison.conclusion
    assert lines[-1].startswith("page 16 is worse than page 1 by 37.5 points")


def test_what_else_is_worth_knowing_is_told(
    title: Title, comparison: Comparison
) -> None:
    text = "\n".join(show(title, comparison))
    assert "page 16: fallbacks: batch_size_mismatch 40, slot_past_pool 33" in text
    assert "dependence of losses on the residue: p = 1e-04" in text
    assert "\n  flips 150 answers, page 1 against itself 0 (p = " in text


def test_tables_keep_to_80_columns(title: Title, comparison: Comparison) -> None:
    lines = show(title, comparison)
    tables = lines[: lines.index(comparison.pairs[0].sentence)]
    assert max(map(len, tables)) <= 80
    assert not [line for line in tables if "…" in line]


def test_the_title_is_shown_as_it_is(title: Title, comparison: Comparison) -> None:
    lines = show(title, comparison)
    assert lines[0] == "gsm8k, a_[$m$], MI355X"
    assert PROBE_CAVEAT not in lines


def test_a_probe_s_score_is_never_shown_as_gsm8k_s(comparison: Comparison) -> None:
    lines = show(Title("gsm_tiny", "tiny_model", "cpu", "page_granular"), comparison)
    assert lines[0] == "gsm_tiny, tiny_model, cpu, planted defect: page_granular"
    assert lines[1] == "templated questions for a probe model: not a gsm8k score"
