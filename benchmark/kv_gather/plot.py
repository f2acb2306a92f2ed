"""Draws the gather's time as a share of the copy, and against two index_select."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402


def plot_result(result: dict[str, Any], file: Path) -> None:
    """Two panels over the number of tokens, one line per row width, to a PNG."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    lines = [line for line in result["gather"] if line["layout"] == "page 16"]
    for panel, other in zip(panels, ("copy", "index_select"), strict=True):
        for row_bytes in dict.fromkeys(line["row_bytes"] for line in lines):
            group = [line for line in lines if line["row_bytes"] == row_bytes]
            panel.plot(
                [line["tokens"] for line in group],
                [line[other]["us"] / line["ours"]["us"] for line in group],
                marker="o",
                label=f"rows of {row_bytes} B",
            )
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set_xscale("log", base=2)
        panel.set_xlabel("tokens")
        panel.grid(alpha=0.3)
    # Captured copies of 512 MiB and more, at 2.8 TB/s, lie far above.
    panels[0].set_ylim(0.75, 1.05)
    panels[0].set_ylabel("copy of the same bytes / gather")
    panels[1].set_ylabel("two index_select / gather")
    panels[1].legend()
    figure.suptitle(
        f"gather_kv on {result['environment']['gpu']}, pages of 16 shuffled"
    )
    figure.savefig(file, dpi=110)
