"""The share of mutants of the gather's indices that the suite kills.

Mutants are made by mutmut's operators. Exits 0 if every mutant is killed, or is listed
with its reason in test/mutation/equivalents.py; 1 if one survives, or is listed and
killed all the same; 2 if nothing was measured.

Example: python scripts/mutation_score.py --also path/to/test_of_another_suite.py
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from matrix.levels import ROOT
from matrix.runs import import_sglang
from mutation.equivalents import EQUIVALENTS
from mutation.mutants import Mutant, make_mutants
from mutation.scores import (
    COLUMNS,
    FUNCTIONS,
    METHODS,
    SUBJECT,
    Score,
    Settings,
    Verdict,
    default_arguments,
    scores_of,
    try_mutants,
)
from page_size_eval.errors import CannotMeasure

ALL_KILLED, SURVIVOR, NOT_MEASURED = 0, 1, 2
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def score_mutants(
    also: Annotated[
        list[Path] | None,
        typer.Option(help="A test file to score alone, beside the suite."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Mutants at a time.")] = min(
        4, os.cpu_count() or 1
    ),
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds for one mutant.")
    ] = 120.0,
    output: Annotated[Path, typer.Option(help="Folder for logs.")] = ROOT
    / "results"
    / "mutation",
    write_json: Annotated[
        Path | None, typer.Option("--json", help="File for the counts.")
    ] = None,
) -> None:
    """Replace each function by each of its mutants and run the helper's tests."""
    messages = Console(stderr=True)
    suites = {"suite": default_arguments()}
    suites |= {path.name: [str(path.resolve())] for path in also or []}
    try:
        mutants = make_mutants(SUBJECT, (*FUNCTIONS, *METHODS))
        messages.print("importing SGLang, once")
        import_sglang()
        verdicts = {}
        for name, arguments in suites.items():
            settings = Settings(output / name, jobs, timeout)
            verdicts[name] = _try(name, mutants, arguments, settings, messages)
    except CannotMeasure as error:
        messages.print(f"cannot measure: {error}", style="bold red", highlight=False)
        raise typer.Exit(NOT_MEASURED) from error
    scores = [
        score
        for name, all_of_them in verdicts.items()
        for score in scores_of(name, all_of_them)
    ]
    Console(width=100).print(_table(scores))
    if write_json:
        write_json.write_text(json.dumps([asdict(s) for s in scores], indent=1) + "\n")
    found = _objections(verdicts["suite"])
    for objection in found:
        messages.print(objection, style="bold red", highlight=False)
    raise typer.Exit(SURVIVOR if found else ALL_KILLED)


def _try(
    name: str,
    mutants: Sequence[Mutant],
    arguments: Sequence[str],
    settings: Settings,
    messages: Console,
) -> list[Verdict]:
    verdicts = []
    with Progress(console=messages) as progress:
        task = progress.add_task(name, total=len(mutants))
        for verdict in try_mutants(mutants, arguments, settings):
            verdicts.append(verdict)
            survived = sum(not one.killed for one in verdicts)
            text = f"{name}: {survived} survived so far"
            progress.update(task, advance=1, description=text)
    return verdicts


def _objections(verdicts: Sequence[Verdict]) -> list[str]:
    killed = {verdict.mutant.key for verdict in verdicts if verdict.killed}
    survived = {verdict.mutant.key for verdict in verdicts if not verdict.killed}
    found = [f"survived: {key}" for key in sorted(survived - set(EQUIVALENTS))]
    for key in sorted(EQUIVALENTS):
        if key in killed:
            found.append(f"listed as equivalent, and killed: {key}")
        elif key not in survived:
            found.append(f"listed as equivalent, and no mutant: {key}")
    return found


def _table(scores: Sequence[Score]) -> Table:
    table = Table(*COLUMNS)
    for score in scores:
        table.add_row(*score.row)
    return table


if __name__ == "__main__":
    app()
