"""Times every launch shape, to set the shape classes and to see what they cost."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from benchmark.kv_gather.batches import Pool, shuffled_slots
from benchmark.kv_gather.gather_grid import copy_of_same_size, grid_pool, window
from benchmark.kv_gather.timing import calls_for_cold_cache, time_interleaved

THREADS = (64, 128, 256)
# 16-byte vectors of K per thread; as many of V.
VECTORS = (1, 2, 4, 8)


def candidate_shapes(row_bytes: int) -> dict[str, tuple[int, int]]:
    """(tokens, threads) per program, by name; each gives a thread whole vectors."""
    shapes = {
        (vectors * threads * 16 // row_bytes, threads)
        for threads in THREADS
        for vectors in VECTORS
    }
    return {f"{n}x{t}": (n, t) for n, t in sorted(shapes) if n}


def measure_shapes(
    module: ModuleType, pool: Pool, slots: torch.Tensor, tokens: int
) -> dict[str, Any]:
    """Microseconds of every shape, of the one chosen, and of the copy."""
    row_bytes = pool.k.shape[1] * pool.k.shape[2]
    moved = 4 * tokens * row_bytes
    calls = calls_for_cold_cache(moved)
    out = [
        (
            pool.k.new_empty(tokens, *pool.k.shape[1:]),
            pool.v.new_empty(tokens, *pool.v.shape[1:]),
        )
        for _ in range(calls)
    ]

    def of(shape: tuple[int, int]) -> Callable[[int], Any]:
        return lambda call: module._gather_kv_triton(
            pool.k, pool.v, window(slots, call, tokens), *out[call], shape
        )

    shapes = candidate_shapes(row_bytes)
    chosen = "{}x{}".format(*module._launch_shape(moved // 2, row_bytes))
    subjects = {name: of(shape) for name, shape in shapes.items()}
    subjects["copy"] = copy_of_same_size(pool, tokens)
    times = time_interleaved(subjects, calls)
    return {
        "row_bytes": row_bytes,
        "tokens": tokens,
        "chosen": chosen,
        "us": {name: spread.us for name, spread in times.items()},
    }


def sweep(
    module: ModuleType, rows: list[int], tokens: list[int]
) -> list[dict[str, Any]]:
    """Every shape at every width and length, pages of 16 tokens."""
    lines = []
    for row_bytes in rows:
        pool = grid_pool(row_bytes)
        slots = shuffled_slots(pool.slots, "page 16")
        lines += [measure_shapes(module, pool, slots, n) for n in tokens]
    return lines
