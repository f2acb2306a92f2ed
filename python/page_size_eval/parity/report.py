"""What a parity run shows and leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from page_size_eval.parity.verdict import Parity


def print_parity(console: Console, title: str, found: Sequence[Parity]) -> None:
    """One line per arm and mode: positions and their logprob differences.

    `other` counts prompts whose continuation takes another token.
    """
    table = Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("arm")
    table.add_column("asked")
    for name in ("n", "largest", "p99", "A/A", "allowed", "other"):
        table.add_column(name, justify="right")
    table.add_column("")
    for parity in found:
        table.add_row(
            parity.arm.label,
            parity.mode,
            str(len(parity.values)),
            f"{parity.largest:.4f}",
            f"{parity.quantile(99):.4f}",
            f"{parity.noise:.4f}",
            f"{parity.tolerance:.4f}",
            str(parity.divergences),
            "differs" if parity.problems else "equal",
        )
    console.print(table)


def plot_parity(folder: Path, title: str, found: Sequence[Parity]) -> None:
    """Largest difference by position, one line per arm and mode: PNG and SVG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # The same run gives the same file.
    matplotlib.rcParams["svg.hashsalt"] = "parity"
    figure, axes = pyplot.subplots(figsize=(9, 4.5), layout="constrained")
    for parity in found:
        axes.plot(_by_position(parity), label=f"{parity.arm.label}, {parity.mode}")
    for tolerance in {parity.tolerance for parity in found}:
        axes.axhline(tolerance, color="0.5", linestyle=":")
    axes.set_yscale("symlog", linthresh=1e-4)
    axes.set_xlabel("position in prompt and continuation, tokens")
    axes.set_ylabel("largest logprob difference")
    axes.set_title(title)
    axes.legend()
    figure.savefig(folder / "parity.png", dpi=150)
    figure.savefig(folder / "parity.svg", metadata={"Date": None})
    pyplot.close(figure)


def as_json(
    recipe: dict[str, Any], found: Sequence[Parity], arms: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The content of parity.json."""
    return {
        "recipe": recipe,
        "equal": not any(parity.problems for parity in found),
        "servers": list(arms),
        "pairs": [parity.as_json() for parity in found],
    }


def _by_position(parity: Parity) -> list[float]:
    longest = max(len(gap.gaps) for gap in parity.gaps)
    return [
        max(gap.gaps[at] for gap in parity.gaps if at < len(gap.gaps))
        for at in range(longest)
    ]
