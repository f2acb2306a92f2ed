"""Renders a result as Markdown, for the console and for docs/performance.md alike."""

from __future__ import annotations

from typing import Any

from benchmark.kv_gather.forward_tables import (
    allocations_table,
    forward_table,
    host_table,
    indices_table,
)
from benchmark.kv_gather.gather_tables import (
    gather_table,
    launched_table,
    layouts_table,
    sweep_table,
)
from benchmark.kv_gather.tables import table
from benchmark.kv_gather.targets import check_targets

BEGIN = "<!-- tables written by benchmark.kv_gather.run --markdown -->"
END = "<!-- end of the tables -->"


def render(result: dict[str, Any]) -> str:
    """Every table that `result` has the numbers for."""
    environment = [
        (name, f"`{value}`") for name, value in result["environment"].items()
    ]
    sections = [table("Run", ("", ""), environment)]
    if "gather" in result:
        goals = ("target", "measured", "where", "met")
        sections += [
            table("Targets", goals, check_targets(result)),
            gather_table(result),
            launched_table(result["gather"]),
            layouts_table(result["gather"]),
            forward_table(result["forward"]),
            indices_table(result["indices"]),
            host_table(result["host"]),
            allocations_table(result["allocations"]),
        ]
    if "prefill" in result:
        sections.append(_prefill(result["prefill"]))
    if "sweep" in result:
        sections.append(sweep_table(result["sweep"]))
    return "\n".join(sections)


def _prefill(lines: list[dict[str, Any]]) -> str:
    header = (
        "row bytes",
        "q heads",
        "chunk",
        "context",
        "gather us",
        "SDPA us",
        "share",
    )
    rows = [
        (
            *(
                f"{line[name]:,}"
                for name in ("row_bytes", "q_heads", "chunk", "context")
            ),
            f"{line['gather']['us']:.1f}",
            f"{line['attention']['us']:,.0f}",
            f"{line['share']:.1%}",
        )
        for line in lines
    ]
    title = "Share of the gather in a chunk's attention, bf16 SDPA in place of fp8 ASM"
    return table(title, header, rows)


def replace_tables(text: str, result: dict[str, Any]) -> str:
    """`text` with what lies between its two marks rendered anew."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"expected the marks {BEGIN} and {END} once each")
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n\n{render(result)}\n{END}{rest.split(END)[1]}"
