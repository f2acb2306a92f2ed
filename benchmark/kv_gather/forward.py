"""Indices and gather together: one call, one layer, and all layers of a forward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import torch

from benchmark.kv_gather.batches import (
    Batch,
    Pool,
    make_batch,
    make_pool,
    ragged_lengths,
    shuffled_slots,
)
from benchmark.kv_gather.paths import KvPath
from benchmark.kv_gather.timing import (
    count_synchronisations,
    device_work,
    host_times,
    wall_times,
)

LAYERS = 15  # Full-attention layers of Qwen3.5 and Qwen3.8.
POOL_SLOTS = 2**19
BATCH_SIZE = 8
PAGE = "page 16"


def measure_indices(
    paths: list[KvPath], batches: list[int], tokens: list[int]
) -> list[dict[str, Any]]:
    """Cost of one computation of the indices: every layer pays it in 0.5.19."""
    slots = shuffled_slots(POOL_SLOTS, PAGE)
    lines = []
    for total in tokens:
        for batch_size in batches:
            batch = make_batch(slots, ragged_lengths(total, batch_size))
            case = {"tokens": total, "batch_size": batch_size}
            calls = {path.name: _indices_call(path, batch) for path in paths}
            lines += [{"path": name} | case | cost for name, cost in _costs(calls)]
    return lines


def _indices_call(path: KvPath, batch: Batch) -> Callable[[], Any]:
    return lambda: path.indices(batch.metadata(), batch, POOL_SLOTS)


def _costs(
    calls: Mapping[str, Callable[[], Any]],
) -> Iterator[tuple[str, dict[str, Any]]]:
    walls = wall_times(calls)
    for name, call in calls.items():
        work = device_work(call)
        yield (
            name,
            {
                "wall": asdict(walls[name]),
                "device_us": work.us,
                "operations": work.operations,
                "synchronisations": count_synchronisations(call),
            },
        )


def measure_forward(
    paths: list[KvPath], rows: list[int], tokens: list[int]
) -> list[dict[str, Any]]:
    """What the layers of one forward pay before their attention kernels."""
    slots = shuffled_slots(POOL_SLOTS, PAGE)
    lines = []
    for row_bytes in rows:
        pools = [make_pool(row_bytes, POOL_SLOTS) for _ in range(LAYERS)]
        for total in tokens:
            batch = make_batch(slots, ragged_lengths(total, BATCH_SIZE))
            case = {"row_bytes": row_bytes, "tokens": total}
            calls = {path.name: _forward_call(path, batch, pools) for path in paths}
            lines += [{"path": name} | case | cost for name, cost in _costs(calls)]
    return lines


def _forward_call(path: KvPath, batch: Batch, pools: list[Pool]) -> Callable[[], Any]:
    def forward() -> None:
        metadata = batch.metadata()
        for pool in pools:
            tok_idx, _ = path.indices(metadata, batch, pool.slots)
            path.gather(pool.k, pool.v, tok_idx)

    return forward


def measure_host(paths: list[KvPath], tokens: int = 512) -> dict[str, Any]:
    """Host time to enqueue one layer's gather, its device work being short."""
    pool = make_pool(512, POOL_SLOTS)
    tok_idx = shuffled_slots(POOL_SLOTS, PAGE)[:tokens]
    ours = next(path for path in paths if path.name == "ours").gather
    buffers = ours(pool.k, pool.v, tok_idx)
    calls: dict[str, Callable[[], Any]] = {
        path.name: lambda path=path: path.gather(pool.k, pool.v, tok_idx)  # type: ignore[misc]
        for path in paths
    }
    calls["ours, into given buffers"] = lambda: ours(  # type: ignore[call-arg]
        pool.k, pool.v, tok_idx, buffers
    )
    return {name: asdict(spread) for name, spread in host_times(calls).items()}


def measure_allocations(path: KvPath, row_bytes: int, tokens: int) -> dict[str, Any]:
    """What the caching allocator makes of one new pair of buffers per layer."""
    pool = make_pool(row_bytes, POOL_SLOTS)
    tok_idx = shuffled_slots(POOL_SLOTS, PAGE)[:tokens]
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    before = torch.cuda.memory_stats()["num_device_alloc"]
    addresses = set()
    for _ in range(LAYERS):
        buffers = path.gather(pool.k, pool.v, tok_idx)
        addresses.add(tuple(buffer.data_ptr() for buffer in buffers))
        del buffers
    return {
        "row_bytes": row_bytes,
        "tokens": tokens,
        "layers": LAYERS,
        "formula_bytes": 2 * tokens * row_bytes,
        "peak_bytes": torch.cuda.max_memory_allocated() - held,
        "device_allocations": torch.cuda.memory_stats()["num_device_alloc"] - before,
        "distinct_buffer_pairs": len(addresses),
    }
