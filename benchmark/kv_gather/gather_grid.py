"""Device time of the gather alone, over widths, lengths and page layouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch

from benchmark.kv_gather.batches import Pool, make_pool, shuffled_slots
from benchmark.kv_gather.paths import Gather
from benchmark.kv_gather.timing import (
    Spread,
    calls_for_cold_cache,
    time_interleaved,
    time_launches,
)

POOL_BYTES = 2**30
POOL_SLOTS = 2**19
# Single launches are timed for this layout only.
LAUNCHED_LAYOUT = "page 16"


def grid_pool(row_bytes: int) -> Pool:
    """A pool well beyond the cache, and of more slots than the longest case reads."""
    return make_pool(row_bytes, max(POOL_SLOTS, POOL_BYTES // row_bytes))


def window(slots: torch.Tensor, call: int, tokens: int) -> torch.Tensor:
    """The call's own part of a pool's slots, beginning on a page."""
    windows = slots.numel() // tokens
    return slots[call % windows * tokens :][:tokens]


def copy_of_same_size(pool: Pool, tokens: int) -> Callable[[int], torch.Tensor]:
    """One device-to-device copy of as many bytes as K plus V of `tokens`."""
    source = pool.k.view(torch.uint8).view(-1)
    size = 2 * tokens * pool.k.shape[1] * pool.k.shape[2]
    parts = source.numel() // size

    def copy(call: int) -> torch.Tensor:
        part = source[call % parts * size :][:size]
        return torch.empty_like(part).copy_(part)

    return copy


def require_equal(
    pool: Pool, tok_idx: torch.Tensor, gathers: dict[str, Gather]
) -> None:
    """Raise unless every implementation returns the bytes of plain indexing."""
    for name, gather in gathers.items():
        gathered = gather(pool.k, pool.v, tok_idx)
        for side, cache, rows in zip("KV", (pool.k, pool.v), gathered, strict=True):
            expected = cache.view(torch.int64)[tok_idx.long()]
            if not torch.equal(rows.view(torch.int64), expected):
                raise AssertionError(
                    f"{name}: {side} differs from indexing for {tuple(rows.shape)}"
                )


def measure_gather(
    pool: Pool,
    slots: torch.Tensor,
    layout: str,
    tokens: int,
    gathers: dict[str, Gather],
) -> dict[str, Any]:
    """One line of the grid; `gathers` are checked, then timed beside the copy."""
    require_equal(pool, window(slots, 0, tokens), gathers)
    row_bytes = pool.k.shape[1] * pool.k.shape[2]
    moved = 4 * tokens * row_bytes  # K and V, read and written.
    calls = calls_for_cold_cache(moved)

    def of(gather: Gather) -> Callable[[int], Any]:
        return lambda call: gather(pool.k, pool.v, window(slots, call, tokens))

    subjects = {name: of(gather) for name, gather in gathers.items()}
    subjects["copy"] = copy_of_same_size(pool, tokens)
    line = {
        "row_bytes": row_bytes,
        "tokens": tokens,
        "layout": layout,
        "moved_bytes": moved,
        **_as_dicts(time_interleaved(subjects, calls)),
    }
    if layout == LAUNCHED_LAYOUT:
        line["launched"] = _as_dicts(time_launches(subjects, calls))
    return line


def _as_dicts(times: dict[str, Spread]) -> dict[str, Any]:
    return {name: asdict(spread) for name, spread in times.items()}


def measure_grid(
    rows: list[int], tokens: list[int], layouts: list[str], gathers: dict[str, Gather]
) -> list[dict[str, Any]]:
    """The whole grid, one line per case."""
    lines = []
    for row_bytes in rows:
        pool = grid_pool(row_bytes)
        for layout in layouts:
            slots = shuffled_slots(pool.slots, layout)
            lines += [measure_gather(pool, slots, layout, n, gathers) for n in tokens]
    return lines


def asymptotic_copy_us(moved_bytes: int = 2**33) -> float:
    """Time of one large copy that reads and writes `moved_bytes` in all."""
    source = torch.empty(moved_bytes // 2, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    times = time_launches({"copy": lambda call: target.copy_(source)}, 1)
    return times["copy"].us
