"""Which level of the suite catches which defect of the catalogue in test/defects/.

Exits 0 if every defect is caught below the engine or says in its file why it cannot be,
1 if one is not, 2 if nothing was measured. Interrupted, it goes on where it stopped.

Example: python scripts/defect_matrix.py --only page_granular --only k_rows_for_v
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from matrix.cells import LEVEL_NAMES, Cell, objections
from matrix.levels import ENGINE, LEVELS, ROOT, Level
from matrix.report import as_json, terminal_table
from matrix.runs import (
    Settings,
    cells,
    import_sglang,
    reached_at,
    targets_of_all,
)
from page_size_eval.defect import defect_names, require_defect
from page_size_eval.errors import CannotMeasure

KILLED, SURVIVOR, NOT_MEASURED = 0, 1, 2
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def make_matrix(
    only: Annotated[
        list[str] | None,
        typer.Option(help="A defect; may be repeated. [default: all]"),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(help=f"Of {', '.join(LEVEL_NAMES)}. [default: all but engine]"),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Test runs at a time.")] = min(
        4, os.cpu_count() or 1
    ),
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds for one defect at one level.")
    ] = 600.0,
    output: Annotated[
        Path, typer.Option(help="Folder for logs and what is known so far.")
    ] = ROOT / "results" / "defects",
    write_json: Annotated[
        Path | None, typer.Option("--json", help="File for all that was found.")
    ] = None,
) -> None:
    """Plant each defect and run each level of the suite until a test fails."""
    messages = Console(stderr=True)
    try:
        names = [require_defect(name) for name in only or defect_names()]
        chosen = _choose_levels(level)
        output.mkdir(parents=True, exist_ok=True)
        rows, tests = _measure(names, chosen, Settings(output, jobs, timeout), messages)
    except CannotMeasure as error:
        messages.print(f"cannot measure: {error}", style="bold red", highlight=False)
        raise typer.Exit(NOT_MEASURED) from error
    levels = [one.name for one in chosen]
    Console(width=100).print(terminal_table(rows, levels))
    if write_json:
        write_json.write_text(as_json(rows, tests))
    found = objections(rows)
    for objection in found:
        messages.print(objection, style="bold red", highlight=False)
    raise typer.Exit(SURVIVOR if found else KILLED)


def _choose_levels(names: list[str] | None) -> list[Level]:
    chosen = [one for one in (*LEVELS, ENGINE) if one.name in (names or [])]
    if len(chosen) < len(set(names or [])):
        raise CannotMeasure(
            f"--level {' '.join(names or [])}: expected {', '.join(LEVEL_NAMES)}."
            " Next: leave it out for all below the engine"
        )
    return chosen or list(LEVELS)


def _measure(
    names: list[str], chosen: list[Level], settings: Settings, messages: Console
) -> tuple[dict[str, dict[str, Cell]], dict[str, int]]:
    messages.print("importing SGLang, once")
    import_sglang()
    targets = targets_of_all(names, settings)
    reached, tests = {}, {}
    every = {target for replaced in targets.values() for target in replaced}
    with Progress(console=messages) as progress:
        task = progress.add_task("suite without a defect", total=len(chosen))
        for level, called, passed in reached_at(chosen, every, settings):
            reached[level], tests[level] = called, passed
            progress.update(task, advance=1)
        task = progress.add_task("defects", total=len(names) * len(chosen))
        rows: dict[str, dict[str, Cell]] = {name: {} for name in names}
        for defect, level, cell in cells(targets, chosen, reached, settings):
            rows[defect][level] = cell
            text = f"{cell.outcome}: {defect} at {level}"
            progress.update(task, advance=1, description=text)
    return rows, tests


if __name__ == "__main__":
    app()
