"""The reference kernels against the references in aiter's own tests.

Takes the path of an aiter checkout, of which nothing is imported, copied or built: the
reference functions are read out of its files and run on this CPU, on seeded inputs.
Exits 0 if all agree, but for the differences that test/aiter_checkout/known.py
explains; 1 if one does not; 2 if a reference could not be measured.

Example: python scripts/check_against_aiter.py ../aiter --only unified_attention
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.progress import Progress

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from aiter_checkout.checkout import Checkout
from aiter_checkout.outcomes import AGREED, DISAGREED, Outcome
from aiter_checkout.pair import Pair
from aiter_checkout.pairs import PAIRS
from aiter_checkout.report import (
    Result,
    disagreements,
    markdown,
    notes,
    terminal_table,
)
from page_size_eval.errors import CannotMeasure

AGREE, DISAGREE, NOT_MEASURED = 0, 1, 2
SOFT_CAP_FORM = "CK_TILE_ATTENTION_LOGITS_SOFT_CAP_DEFAULT"
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def check(
    path: Annotated[Path, typer.Argument(help="A checkout of ROCm/aiter.")],
    only: Annotated[
        list[str] | None,
        typer.Option(help="A kernel or a reference; may be repeated. [default: all]"),
    ] = None,
    write_markdown: Annotated[
        Path | None, typer.Option("--markdown", help="File for the table.")
    ] = None,
) -> None:
    """Compare every kernel with aiter's references over a grid of cases."""
    # The tensors are small: threads would only wait for each other.
    torch.set_num_threads(1)
    messages = Console(stderr=True)
    try:
        chosen = _choose(only)
        _require_tanh()
        checkout = Checkout(path)
    except CannotMeasure as error:
        messages.print(f"cannot measure: {error}", style="bold red", highlight=False)
        raise typer.Exit(NOT_MEASURED) from error
    with Progress(console=messages) as progress:
        results = [_compare(pair, checkout, progress) for pair in chosen]
    commit = checkout.commit()
    output = Console(width=120)
    output.print(terminal_table(results, commit))
    for note in notes(results):
        output.print(note, highlight=False, soft_wrap=True)
    if write_markdown:
        write_markdown.write_text(markdown(results, commit))
    raise typer.Exit(_conclude(results, messages))


def _choose(only: Sequence[str] | None) -> list[Pair]:
    chosen = [
        pair
        for pair in PAIRS
        if not only or pair.kernel in only or pair.reference in only
    ]
    names = {name for pair in PAIRS for name in (pair.kernel, pair.reference)}
    unknown = sorted(set(only or []) - names)
    if unknown:
        raise CannotMeasure(
            f"--only: expected one of {', '.join(sorted(names))}, got"
            f" {', '.join(unknown)}. Next: leave it out for all"
        )
    return chosen


def _require_tanh() -> None:
    form = os.environ.get(SOFT_CAP_FORM, "0")
    if form != "0":
        raise CannotMeasure(
            f"{SOFT_CAP_FORM}: expected 0 or unset, the soft cap by tanh, got {form},"
            " which aiter's references follow. Next: unset it"
        )


def _compare(pair: Pair, checkout: Checkout, progress: Progress) -> Result:
    task = progress.add_task(pair.reference, total=len(pair.cases))
    outcomes: list[Outcome] = []
    try:
        for outcome in pair.compare(pair.take(checkout)):
            outcomes.append(outcome)
            progress.update(task, advance=1)
        if not any(one.verdict in (AGREED, DISAGREED) for one in outcomes):
            raise CannotMeasure(
                f"{pair.reference}: expected cases to compare, got none of"
                f" {len(outcomes)}. Next: read why they are not applicable"
            )
    except CannotMeasure as error:
        return Result(pair, outcomes, str(error))
    return Result(pair, outcomes)


def _conclude(results: Sequence[Result], messages: Console) -> int:
    wrong = disagreements(results)
    missing = [result.missing for result in results if result.missing]
    missing = [f"cannot measure: {text}" for text in dict.fromkeys(missing)]
    for line in (*wrong, *missing):
        messages.print(line, style="bold red", highlight=False, soft_wrap=True)
    if wrong:
        return DISAGREE
    return NOT_MEASURED if missing else AGREE


if __name__ == "__main__":
    app()
