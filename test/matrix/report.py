"""A matrix as a table of the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rich.table import Table

from matrix.cells import (
    KILLED,
    NOT_REACHED,
    Cell,
    Row,
    reason_for,
    summary_of,
    totals,
)

_STYLES = {KILLED: "green", NOT_REACHED: "dim"}
_SHORT = {NOT_REACHED: "-"}


def terminal_table(rows: Mapping[str, Row], levels: Sequence[str]) -> Table:
    table = Table("defect", *levels, title="defects and the levels that catch them")
    for defect, row in sorted(rows.items()):
        table.add_row(defect, *(_coloured(row[level]) for level in levels))
    sums = totals(rows, levels)
    counts = [
        f"{sums[level][KILLED]} of {len(rows) - sums[level][NOT_REACHED]}"
        for level in levels
    ]
    table.add_section()
    table.add_row("killed of reached", *counts)
    return table


def _coloured(cell: Cell) -> str:
    style = _STYLES.get(cell.outcome, "bold red")
    return f"[{style}]{_SHORT.get(cell.outcome, cell.outcome)}[/]"


def markdown(rows: Mapping[str, Row], levels: Sequence[str]) -> str:
    """The matrix and, for each defect, its story's first line and the first killer."""
    lines = [
        f"| defect | {' | '.join(levels)} | what is wrong | first caught by |",
        "| --- |" + " --- |" * (len(levels) + 2),
    ]
    for defect, row in sorted(rows.items()):
        outcomes = [_SHORT.get(row[n].outcome, row[n].outcome) for n in levels]
        killers = [row[n].killer for n in levels if row[n].outcome == KILLED]
        by = f"`{killers[0]}`" if killers else (reason_for(defect) or "nothing")
        cells = [f"`{defect}`", *outcomes, summary_of(defect), by]
        lines.append(f"| {' | '.join(cells)} |")
    sums = totals(rows, levels)
    counts = [
        f"{sums[n][KILLED]} of {len(rows) - sums[n][NOT_REACHED]}" for n in levels
    ]
    lines.append(f"| killed of reached | {' | '.join(counts)} | | |")
    return "\n".join(lines) + "\n"


def as_json(rows: Mapping[str, Row], tests: Mapping[str, int]) -> str:
    document = {
        "tests": dict(tests),
        "defects": {
            defect: {level: cell.as_json() for level, cell in row.items()}
            for defect, row in sorted(rows.items())
        },
    }
    return json.dumps(document, indent=1) + "\n"
