"""The goals of this work, each with the worst case that the run found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Line = dict[str, Any]

# (goal, what the gather is measured against, at least, in which cases)
_GATHER_GOALS: list[tuple[str, str, float, Callable[[Line], bool]]] = [
    (
        "share of the same-size copy, rows of 256 and 512 B, 2k to 256k tokens",
        "copy",
        0.95,
        lambda ln: ln["row_bytes"] in (256, 512) and ln["tokens"] >= 2048,
    ),
    (
        "against two index_select, 512 B rows, 16k tokens and more",
        "index_select",
        2.1,
        lambda ln: ln["row_bytes"] == 512 and ln["tokens"] >= 16384,
    ),
    (
        "against two index_select, 256 B rows, 64k tokens and more",
        "index_select",
        4.0,
        lambda ln: ln["row_bytes"] == 256 and ln["tokens"] >= 65536,
    ),
    (
        "against two index_select, rows up to 512 B",
        "index_select",
        1.7,
        lambda ln: ln["row_bytes"] <= 512,
    ),
    ("against two index_select, everywhere", "index_select", 1.7, lambda ln: True),
    ("never slower than two index_select", "index_select", 1.0, lambda ln: True),
]


def check_targets(result: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """(goal, worst value found, where, yes or no)."""
    gather = result["gather"]
    yield from _gather_targets(gather, "graph replays")
    launched = [line | line["launched"] for line in gather if "launched" in line]
    yield from _gather_targets(launched, "single launches")
    yield from _forward_targets(result["forward"])
    worst = max(
        line["synchronisations"] for line in result["indices"] if line["path"] == "ours"
    )
    goal = "synchronisations of an ordinary batch: 0"
    yield goal, str(worst), "every batch of the indices table", _yes(worst == 0)


def _gather_targets(
    lines: list[Line], timed_by: str
) -> Iterator[tuple[str, str, str, str]]:
    for goal, other, least, applies in _GATHER_GOALS:
        group = [line for line in lines if applies(line)]
        if not group:
            continue
        ratio, line = min(
            ((ln[other]["us"] / ln["ours"]["us"], ln) for ln in group),
            key=lambda found: found[0],
        )
        short = sum(ln[other]["us"] / ln["ours"]["us"] < least for ln in group)
        where = f"{line['row_bytes']} B, {line['tokens']:,} tokens, {line['layout']}"
        where += f"; {len(group) - short} of {len(group)} cases"
        yield (
            f"{timed_by}: {goal}: {least}",
            f"{ratio:.2f}",
            where,
            _yes(ratio >= least),
        )


def _forward_targets(lines: list[Line]) -> Iterator[tuple[str, str, str, str]]:
    goals = [
        ("0.5.19", 6.0, (256, 512), 131072),
        ("0.5.23", 2.1, (512,), 131072),
        ("0.5.23", 4.0, (256,), 131072),
        ("0.5.19", 1.0, None, None),
        ("0.5.23", 1.0, None, None),
    ]
    for version, least, widths, tokens in goals:
        found = [
            (ratio, line)
            for ratio, line in _wall_ratios(lines, version)
            if (widths is None or line["row_bytes"] in widths)
            and tokens in (None, line["tokens"])
        ]
        if not found:
            continue
        ratio, line = min(found, key=lambda pair: pair[0])
        what = "everywhere" if widths is None else f"{' and '.join(map(str, widths))} B"
        length = "" if tokens is None else f", {tokens:,} tokens"
        goal = f"15-layer forward against {version}, {what}{length}: {least}"
        where = f"{line['row_bytes']} B, {line['tokens']:,} tokens"
        yield goal, f"{ratio:.2f}", where, _yes(ratio >= least)


def _wall_ratios(lines: list[Line], version: str) -> Iterator[tuple[float, Line]]:
    walls = {
        (ln["path"], ln["row_bytes"], ln["tokens"]): ln["wall"]["us"] for ln in lines
    }
    for line in lines:
        if line["path"] == "ours":
            case = (line["row_bytes"], line["tokens"])
            yield walls[(version, *case)] / line["wall"]["us"], line


def _yes(met: bool) -> str:
    return "yes" if met else "no"
