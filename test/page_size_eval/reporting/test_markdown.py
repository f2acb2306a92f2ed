"""The report that is pasted into a pull request."""

from __future__ import annotations

import re

import pytest

from page_size_eval.comparison.outcome import Comparison
from page_size_eval.reporting.markdown import write_markdown
from page_size_eval.reporting.titles import PROBE_CAVEAT, Title

COMMAND = "make gsm8k PAGE='16 64'"


@pytest.fixture
def text(title: Title, comparison: Comparison) -> str:
    recipe = {"limit": 400, "model": "a|b", "versions": {"sglang": "0.5.23"}}
    chunks = {"page 1": 412}
    return write_markdown(title, comparison, recipe, COMMAND, chunks)


def test_title_and_verdict_come_first(text: str, comparison: Comparison) -> None:
    lines = text.splitlines()
    assert lines[0] == r"## gsm8k, a\_\[$m$], MI355X"
    assert lines[2].startswith("page 16 is worse than page 1 by 37.5 points")
    assert PROBE_CAVEAT not in text


def test_every_table_is_a_table(text: str) -> None:
    blocks = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    # Arms, pairs, three page sizes by residue, path, recipe.
    assert len(blocks) == 7
    for block in blocks:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block
        assert re.fullmatch(r"\|( --- \|)+", block.splitlines()[1])


@pytest.mark.parametrize(
    "line",
    [
        r"| page 64 | 400 | 0.9875 \[0.971, 0.995] | 0.9875 \[0.971, 0.995]"
        " | 395 | 1 | 0 | 1 | 1 | 1 | 1 | 0 |",
        r"| page 16 | 55 | 73 | batch\_size\_mismatch 40, slot\_past\_pool 33"
        " | not counted |",
        "| page 1 | 265 | 0 | none | at least 412 |",
        "| 0 to 1 | 50 | 50 | 17 | 33 | 0 |",
        "| 10 to 11 | 50 | 50 | 50 | 0 | 0 |",
        "- page 1, again: 2 servers answered, 310 answers kept from an interrupted run",
        r"| model | a\|b |",
        '| versions | {"sglang": "0.5.23"} |',
        COMMAND,
    ],
)
def test_what_a_reviewer_needs_is_there(text: str, line: str) -> None:
    assert line in text.splitlines(), text


def test_residues_and_recipe_are_folded(text: str) -> None:
    folded = re.findall(r"<details>\n<summary>(.*)</summary>\n\n", text)
    assert folded == ["prompt length modulo page size", "recipe"]
    assert text.count("</details>") == 2
    assert (
        "(residue 0) lost 16 of 25, those with a partly filled one 134 of 375" in text
    )


def test_a_run_in_one_go_says_so(title: Title, comparison: Comparison) -> None:
    arms = (comparison.arms[0], *comparison.arms[2:])
    whole = Comparison(arms, comparison.pairs, comparison.margin)
    text = write_markdown(title, whole, {}, COMMAND, {})
    assert "Every arm was measured by one server, without interruption." in text


def test_a_probe_s_score_is_never_shown_as_gsm8k_s(comparison: Comparison) -> None:
    title = Title("gsm_tiny", "tiny_model", "cpu")
    lines = write_markdown(title, comparison, {}, COMMAND, {}).splitlines()
    assert lines[0] == r"## gsm\_tiny, tiny\_model, cpu"
    assert lines[2] == f"**{PROBE_CAVEAT}**"
