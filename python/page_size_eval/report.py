"""What a run shows and leaves behind."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from page_size_eval.errors import CannotMeasure
from page_size_eval.scoring import FILTERS
from page_size_eval.verdict import ArmResult


def print_table(console: Console, title: str, results: Sequence[ArmResult]) -> None:
    """One line per arm."""
    table = Table(title=title)
    table.add_column("arm")
    # "strict" and "flexible": an 80-column terminal has no room for the whole names.
    filters = [name.partition("-")[0] for name in FILTERS]
    for name in ("n", *filters, "empty", "ASM hits", "fallbacks"):
        table.add_column(name, justify="right")
    for result in results:
        prefill = result.prefill
        table.add_row(
            result.arm.label,
            str(result.score.n),
            *(f"{result.score.exact_match[name]:.4f}" for name in FILTERS),
            str(result.score.empty),
            str(prefill.hits),
            str(prefill.fallback_total),
        )
    console.print(table)


def write_json(path: Path, content: Any) -> None:
    """Replace `path` as a whole: a full disk leaves the old file."""
    scratch = path.with_suffix(".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(json.dumps(content, indent=1, default=str) + "\n")
        os.replace(scratch, path)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink()
        raise CannotMeasure(
            f"{path}: expected to be written, got {error.strerror}. Next: make room or"
            " give another folder with --output"
        ) from error
