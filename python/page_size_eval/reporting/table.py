"""What a run shows in the terminal, 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from page_size_eval.comparison.criteria import LEVEL
from page_size_eval.comparison.outcome import Comparison
from page_size_eval.comparison.verdict import Verdict
from page_size_eval.comparison.wording import as_margin
from page_size_eval.reporting.cells import (
    KINDS,
    explain_residues,
    name_filters,
    show_accuracy,
    show_fallbacks,
    show_pair,
    show_served,
)
from page_size_eval.reporting.titles import Title

STYLES = {
    Verdict.EQUIVALENT: "green",
    Verdict.WORSE: "bold red",
    Verdict.BETTER: "bold red",
    Verdict.CANNOT_TELL: "yellow",
}


def print_report(console: Console, title: Title, comparison: Comparison) -> None:
    """Scores, answers and service per arm, then the pairs and what follows."""
    _say(console, title.line)
    if title.caveat:
        _say(console, title.caveat)
    for table in (
        _tabulate_scores(comparison),
        _tabulate_answers(comparison),
        _tabulate_service(comparison),
        _tabulate_pairs(comparison),
    ):
        console.print()
        console.print(table)
    console.print()
    for line in _remark(comparison):
        _say(console, line)
    _say(console, comparison.conclusion)


def _tabulate_scores(comparison: Comparison) -> Table:
    names = name_filters(comparison.baseline.accuracy)
    columns = ["n", *(f"{short} [95 %]" for short in names.values())]
    table = _begin("scores", columns)
    for score in comparison.arms:
        shares = (show_accuracy(score.accuracy[name]) for name in names)
        table.add_row(score.arm.label, str(score.n), *shares)
    return table


def _tabulate_answers(comparison: Comparison) -> Table:
    passes = comparison.baseline.passes
    table = _begin(
        "answers" if passes == 1 else f"answers of {passes} passes",
        [kind.replace("_", "\n") for kind in KINDS],
    )
    for score in comparison.arms:
        table.add_row(score.arm.label, *(str(getattr(score.counts, k)) for k in KINDS))
    return table


def _tabulate_service(comparison: Comparison) -> Table:
    columns = ["servers", "resumed", "duplicates", "ASM hits", "fallbacks"]
    table = _begin("service", columns)
    for score in comparison.arms:
        counts = (score.servers, score.asked_before, score.duplicates)
        table.add_row(score.arm.label, *map(str, counts), *show_served(score))
    return table


def _tabulate_pairs(comparison: Comparison) -> Table:
    against = comparison.baseline.arm.label
    table = _begin(
        f"against {against}, equivalent within {as_margin(comparison.margin)}",
        ["points [95 %]", "lost /\ngained", "McNemar\np (Holm)", "verdict"],
    )
    for pair in comparison.pairs:
        *cells, verdict = show_pair(pair)
        table.add_row(*cells, Text(verdict, STYLES[pair.verdict]))
    return table


def _remark(comparison: Comparison) -> Iterable[str]:
    """One line per pair, and what else is worth knowing."""
    for score in comparison.arms:
        if score.prefill and score.prefill.fallbacks:
            yield f"{score.arm.label}: fallbacks: {show_fallbacks(score)}"
    for pair in comparison.pairs:
        yield pair.sentence
        if pair.remark:
            yield f"  {pair.remark}"
        residues = pair.residues
        if residues and residues.p_value is not None and residues.p_value < LEVEL:
            yield f"  {explain_residues(residues)}"


def _begin(title: str, columns: Sequence[str]) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("arm", overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", overflow="fold")
    return table


def _say(console: Console, text: str) -> None:
    """A line as it is, whole for grep and copying."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)
