"""Tables of the gather alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmark.kv_gather.tables import spread, table

COMPARED = (
    "row bytes",
    "tokens",
    "gather us",
    "copy us",
    "two index_select us",
    "share of copy",
    "against index_select",
)


def gather_table(result: dict[str, Any]) -> str:
    """Every length at pages of 16, beside the copy and index_select."""
    peak = 2**33 / result["copy_8_gib_us"]
    rows = []
    for line in result["gather"]:
        if line["layout"] != "page 16":
            continue
        ours, copy, old = (line[n]["us"] for n in ("ours", "copy", "index_select"))
        speed = line["moved_bytes"] / ours
        rows.append(
            (
                line["row_bytes"],
                f"{line['tokens']:,}",
                *(spread(line[n], 1, 2) for n in ("ours", "copy", "index_select")),
                f"{copy / ours:.2f}",
                f"{old / ours:.2f}x",
                f"{speed / 1000:.0f}",
                f"{speed / peak:.2f}",
            )
        )
    header = (
        *COMPARED,
        "GB/s",
        f"share of {peak / 1000:.0f} GB/s",
    )
    title = "Gather alone, graph replays, pages of 16 shuffled: median (p10-p90)"
    return table(title, header, rows)


def launched_table(lines: list[dict[str, Any]]) -> str:
    """The same cases as single launches on a stream."""
    rows = []
    for line in lines:
        if "launched" not in line:
            continue
        times = line["launched"]
        ours, copy, old = (times[n]["us"] for n in ("ours", "copy", "index_select"))
        rows.append(
            (
                line["row_bytes"],
                f"{line['tokens']:,}",
                *(spread(times[n]) for n in ("ours", "copy", "index_select")),
                f"{copy / ours:.2f}",
                f"{old / ours:.2f}x",
            )
        )
    header = COMPARED
    title = "Gather alone, one launch between two events on a stream, pages of 16"
    return table(title, header, rows)


def layouts_table(lines: list[dict[str, Any]]) -> str:
    """Worst and median case of each page layout."""
    rows = []
    for key in dict.fromkeys((line["row_bytes"], line["layout"]) for line in lines):
        group = [ln for ln in lines if (ln["row_bytes"], ln["layout"]) == key]
        rows.append((*key, *_ranges(group, "copy"), *_ranges(group, "index_select")))
    header = (
        "row bytes",
        "layout",
        "share of copy, lowest at 2k tokens and more",
        "median",
        "against index_select, lowest at any length",
        "median",
    )
    return table("Gather alone, graph replays, every page layout", header, rows)


def _ranges(group: list[dict[str, Any]], other: str) -> Iterator[str]:
    shortest = 2048 if other == "copy" else 0
    ratios = sorted(
        line[other]["us"] / line["ours"]["us"]
        for line in group
        if line["tokens"] >= shortest
    )
    yield f"{ratios[0]:.2f}"
    yield f"{ratios[len(ratios) // 2]:.2f}"


def sweep_table(lines: list[dict[str, Any]]) -> str:
    """The launch shape chosen, beside the best of all."""
    rows = []
    for line in lines:
        us = dict(line["us"])
        copy = us.pop("copy")
        best = min(us, key=us.__getitem__)
        chosen = us.get(line["chosen"], float("nan"))
        rows.append(
            (
                line["row_bytes"],
                f"{line['tokens']:,}",
                best,
                f"{us[best]:.2f}",
                line["chosen"],
                f"{chosen:.2f}",
                f"{us[best] / chosen:.2f}",
                f"{copy / chosen:.2f}",
            )
        )
    header = (
        "row bytes",
        "tokens",
        "best shape",
        "us",
        "chosen shape",
        "us",
        "best / chosen",
        "copy / chosen",
    )
    return table("Launch shapes, tokens x threads per program", header, rows)
