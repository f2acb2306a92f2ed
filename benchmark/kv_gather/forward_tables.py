"""Tables of indices and gather together, and of what they cost the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmark.kv_gather.forward import LAYERS
from benchmark.kv_gather.tables import spread, table


def _by_path(
    lines: list[dict[str, Any]], keys: tuple[str, str]
) -> Iterator[tuple[tuple[int, int], dict[str, dict[str, Any]]]]:
    for case in dict.fromkeys((line[keys[0]], line[keys[1]]) for line in lines):
        yield (
            case,
            {
                line["path"]: line
                for line in lines
                if (line[keys[0]], line[keys[1]]) == case
            },
        )


def forward_table(lines: list[dict[str, Any]]) -> str:
    """What the layers of one forward pay before their attention kernels."""
    rows = []
    for (row_bytes, tokens), paths in _by_path(lines, ("row_bytes", "tokens")):
        ours = paths["ours"]["wall"]["us"]
        rows.append(
            (
                row_bytes,
                f"{tokens:,}",
                *(spread(line["wall"], 1000, 2) for line in paths.values()),
                *(f"{line['wall']['us'] / LAYERS:.0f}" for line in paths.values()),
                *(f"{line['device_us'] / 1000:.2f}" for line in paths.values()),
                *(
                    f"{line['wall']['us'] / ours:.2f}x"
                    for name, line in paths.items()
                    if name != "ours"
                ),
            )
        )
    names = tuple(dict.fromkeys(line["path"] for line in lines))
    header = (
        "row bytes",
        "tokens",
        *(f"{name}, wall ms" for name in names),
        *(f"{name}, wall us a layer" for name in names),
        *(f"{name}, device ms" for name in names),
        *(f"against {name}" for name in names if name != "ours"),
    )
    title = "Indices and gather, 15 layers of a forward, 8 sequences"
    return table(title, header, rows)


def indices_table(lines: list[dict[str, Any]]) -> str:
    """One computation of the indices, by release."""
    rows = [
        (
            f"{line['tokens']:,}",
            line["batch_size"],
            line["path"],
            spread(line["wall"], 1, 0),
            f"{line['device_us']:.1f}",
            line["operations"],
            line["synchronisations"],
            "every layer" if line["path"] == "0.5.19" else "once per batch",
        )
        for line in lines
    ]
    header = (
        "tokens",
        "sequences",
        "path",
        "wall us",
        "device us",
        "device operations",
        "synchronisations",
        "paid by",
    )
    return table("Indices, one computation", header, rows)


def host_table(host: dict[str, Any]) -> str:
    """What one gather costs the host."""
    rows = [(name, spread(times)) for name, times in host.items()]
    return table("Host time to enqueue one layer's gather", ("path", "us"), rows)


def allocations_table(lines: list[dict[str, Any]]) -> str:
    """Memory of the buffers, and what the caching allocator does for them."""
    header = (
        "row bytes",
        "tokens",
        "formula MB",
        "peak MB",
        "device allocations in 15 layers",
        "buffer pairs",
    )
    rows = [
        (
            line["row_bytes"],
            f"{line['tokens']:,}",
            f"{line['formula_bytes'] / 2**20:.1f}",
            f"{line['peak_bytes'] / 2**20:.1f}",
            line["device_allocations"],
            line["distinct_buffer_pairs"],
        )
        for line in lines
    ]
    return table("Buffers of our gather under the caching allocator", header, rows)
