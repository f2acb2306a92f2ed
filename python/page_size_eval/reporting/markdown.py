"""The report to paste into a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from page_size_eval.comparison.criteria import GATING_FILTER
from page_size_eval.comparison.outcome import Comparison
from page_size_eval.comparison.wording import as_margin, as_p
from page_size_eval.reporting.cells import (
    KINDS,
    NOT_COUNTED,
    explain_residues,
    name_filters,
    show_accuracy,
    show_fallbacks,
    show_pair,
    show_residues,
    show_served,
)
from page_size_eval.reporting.titles import Title


def write_markdown(
    title: Title,
    comparison: Comparison,
    recipe: Mapping[str, object],
    command: str,
    chunks_with_prefix: Mapping[str, int],
) -> str:
    """The whole report, the verdict first.

    Args:
        recipe: everything that the scores depend on.
        command: what reproduces the run.
        chunks_with_prefix: by label of an arm, the fewest chunks with a prefix that its
            prompts' lengths allow.
    """
    sections = [
        [f"## {_escape(title.line)}"],
        [f"**{_escape(title.caveat)}**"] if title.caveat else [],
        [_escape(comparison.conclusion)],
        _list_arms(comparison),
        _list_pairs(comparison),
        [f"- {_escape(line)}" for line in _say_pairs(comparison)],
        _fold("prompt length modulo page size", _list_residues(comparison)),
        ["### Path", "", *_list_path(comparison, chunks_with_prefix)],
        _list_resumed(comparison),
        _fold("recipe", _list_recipe(recipe)),
        ["Reproduce:", "", "```", command, "```"],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _list_arms(comparison: Comparison) -> list[str]:
    names = name_filters(comparison.baseline.accuracy)
    header = [
        "arm",
        "n",
        *(f"{short} [95 %]" for short in names.values()),
        *(kind.replace("_", " ") for kind in KINDS),
        "duplicates",
    ]
    rows = [
        [
            score.arm.label,
            str(score.n),
            *(show_accuracy(score.accuracy[name]) for name in names),
            *(str(getattr(score.counts, kind)) for kind in KINDS),
            str(score.duplicates),
        ]
        for score in comparison.arms
    ]
    passes = comparison.baseline.passes
    note = "" if passes == 1 else f" Answers are counted over {passes} passes."
    caption = f"Wilson intervals over the questions; {GATING_FILTER} decides.{note}"
    return [*_tabulate(header, rows), "", caption]


def _list_pairs(comparison: Comparison) -> list[str]:
    header = [
        f"against {comparison.baseline.arm.label}",
        "points [95 %]",
        "lost / gained",
        "both right / both wrong",
        "McNemar p (Holm)",
        f"p of equivalence within {as_margin(comparison.margin)}",
        "verdict",
    ]
    rows = []
    for pair in comparison.pairs:
        label, points, flips, p_flips, verdict = show_pair(pair)
        table = pair.gating.table
        same = f"{table.both_right} / {table.both_wrong}"
        p_equivalence = as_p(pair.gating.p_equivalence)
        rows.append([label, points, flips, same, p_flips, p_equivalence, verdict])
    return _tabulate(header, rows)


def _say_pairs(comparison: Comparison) -> Iterable[str]:
    for pair in comparison.pairs:
        yield f"{pair.sentence}; {pair.remark}" if pair.remark else pair.sentence


def _list_residues(comparison: Comparison) -> list[str]:
    header = ["tokens modulo page", "n", "right before", "after", "lost", "gained"]
    lines: list[str] = []
    for pair in comparison.pairs:
        if pair.residues is None:
            continue
        rows = [show_residues(one) for one in pair.residues.classes]
        lines += [f"{_escape(pair.arm.label)}: {explain_residues(pair.residues)}", ""]
        lines += [*_tabulate(header, rows), ""]
    return lines[:-1]


def _list_path(
    comparison: Comparison, chunks_with_prefix: Mapping[str, int]
) -> list[str]:
    header = ["arm", "ASM hits", "fallbacks", "by reason", "chunks with a prefix"]
    rows = []
    for score in comparison.arms:
        fewest = chunks_with_prefix.get(score.arm.label)
        chunks = NOT_COUNTED if fewest is None else f"at least {fewest}"
        served = show_served(score)
        rows.append([score.arm.label, *served, show_fallbacks(score), chunks])
    return _tabulate(header, rows)


def _list_resumed(comparison: Comparison) -> list[str]:
    """Which arms were not measured in one go."""
    return [
        f"- {_escape(score.arm.label)}: {score.servers} servers answered,"
        f" {score.asked_before} answers kept from an interrupted run"
        for score in comparison.arms
        if score.servers > 1 or score.asked_before
    ] or ["Every arm was measured by one server, without interruption."]


def _list_recipe(recipe: Mapping[str, object]) -> list[str]:
    rows = [
        [name, value if isinstance(value, str) else json.dumps(value, default=str)]
        for name, value in recipe.items()
    ]
    return _tabulate(["key", "value"], rows)


def _fold(summary: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    return [
        "<details>",
        f"<summary>{summary}</summary>",
        "",
        *lines,
        "",
        "</details>",
    ]


def _tabulate(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        _row(header),
        _row(["---"] * len(header)),
        *(_row([_escape(cell) for cell in row]) for row in rows),
    ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    """Keep cells whole, and names such as gsm_tiny and tiny_model as they are."""
    for character in "\\|_*<[`":
        text = text.replace(character, f"\\{character}")
    return text.replace("\n", " ")
