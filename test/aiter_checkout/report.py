"""The counts of a comparison, for the terminal and for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from aiter_checkout.outcomes import (
    AGREED,
    DISAGREED,
    KNOWN,
    NOT_APPLICABLE,
    Outcome,
)
from aiter_checkout.pair import Pair

HEAD = ("aiter's", "here", "cases", "agree", "known", "differ", "n/a", "worst")
SHOWN = 3
"""Disagreements printed for each pair."""


@dataclass(frozen=True)
class Result:
    """A pair with its outcomes; `missing` says why there are none."""

    pair: Pair
    outcomes: Sequence[Outcome]
    missing: str = ""

    def count(self, verdict: str) -> int:
        return sum(one.verdict == verdict for one in self.outcomes)

    @property
    def worst(self) -> str:
        """The worst difference of all but the known ones, over what was allowed."""
        compared = (AGREED, DISAGREED)
        shares = [one.share for one in self.outcomes if one.verdict in compared]
        return f"{max(shares):.2f}" if shares else "-"

    def cells(self) -> tuple[str, ...]:
        verdicts = (AGREED, KNOWN, DISAGREED, NOT_APPLICABLE)
        counts = [str(self.count(verdict)) for verdict in verdicts]
        if self.missing:
            counts = ["-", "-", "-", "-"]
        cases = str(len(self.pair.cases))
        return (self.pair.name, self.pair.kernel, cases, *counts, self.worst)


def terminal_table(results: Sequence[Result], commit: str) -> Table:
    """One line for every pair."""
    table = Table(title=f"aiter {commit}", caption=CAPTION)
    for name in HEAD[:2]:
        table.add_column(name, overflow="fold")
    for name in HEAD[2:]:
        table.add_column(name, justify="right")
    for result in results:
        table.add_row(*result.cells())
    return table


CAPTION = "worst: the largest difference over what is allowed there, 1 being the limit"


def notes(results: Sequence[Result]) -> list[str]:
    """Why cases are not applicable, what is known, and where tolerances come from."""
    counts: Counter[str] = Counter()
    for result in results:
        for one in result.outcomes:
            counts.update(_remarks(result.pair, one))
    return [f"{count} {remark}" for remark, count in counts.items()]


def _remarks(pair: Pair, outcome: Outcome) -> dict[str, int]:
    """What there is to say of a case, with how often."""
    found = {}
    if outcome.verdict in (NOT_APPLICABLE, KNOWN):
        said = f"cases of {pair.reference} for {pair.kernel}"
        found[f"{said}: {outcome.verdict}: {outcome.why}"] = 1
    if outcome.undefined:
        said = f"queries of {pair.reference} for {pair.kernel}"
        found[f"{said}: left out, no key is seen and the reference gives NaN"] = (
            outcome.undefined
        )
    if outcome.tolerance:
        found[f"cases allowed {outcome.tolerance}"] = 1
    return found


def disagreements(results: Sequence[Result]) -> list[str]:
    """The first few of every pair."""
    lines = []
    for result in results:
        wrong = [one for one in result.outcomes if one.verdict == DISAGREED]
        for one in wrong[:SHOWN]:
            where = f"{result.pair.name}, {result.pair.kernel}, {one.case.label}"
            lines.append(f"disagrees: {where}: {one.why}")
        if len(wrong) > SHOWN:
            rest = len(wrong) - SHOWN
            lines.append(f"disagrees: {result.pair.name}: and {rest} more")
    return lines


def markdown(results: Sequence[Result], commit: str) -> str:
    """The table and its notes, for a page."""
    lines = [f"aiter {commit}", "", f"| {' | '.join(HEAD)} |", "| --- " * 8 + "|"]
    for result in results:
        cells = result.cells()
        named = (f"`{cells[0]}`", f"`{cells[1]}`", *cells[2:])
        lines.append(f"| {' | '.join(named)} |")
    lines += ["", CAPTION.capitalize() + ".", ""]
    lines += [f"- {note}" for note in notes(results)]
    return "\n".join(lines) + "\n"
