"""Batches whose K and V really go through the backend, one layer deep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from producers.scheduling import extend_batch
from producers.serving import FULL_LAYER, HEAD_DIM, KV_HEADS, Q_HEADS, Serving
from producers.signatures import K, V, make_rows


def boundary_grid(page_size: int) -> list[tuple[int, int]]:
    """(prefix, extend) tokens at, before and behind the ends of the first two pages."""
    p = page_size
    prefixes = sorted({0, 1, p - 1, p, p + 1, 2 * p - 1, 2 * p, 2 * p + 1})
    extends = sorted({1, p - 1, p, p + 1} - {0})
    return [(prefix, extend) for prefix in prefixes for extend in extends]


def make_layer(layer_id: int = FULL_LAYER, window: int | None = None) -> Any:
    """SGLang's attention layer with the shapes of the context-chunk branch."""
    from sglang.srt.layers.radix_attention import RadixAttention

    return RadixAttention(
        num_heads=Q_HEADS,
        head_dim=HEAD_DIM,
        scaling=HEAD_DIM**-0.5,
        num_kv_heads=KV_HEADS,
        layer_id=layer_id,
        sliding_window_size=-1 if window is None else window,
    )


def forward(
    serving: Serving, batch: Any, owners: Sequence[int], layer: Any = None
) -> None:
    """Metadata of the batch, then one layer: writes the new tokens' rows, attends.

    Args:
        owners: the number that the rows of each sequence carry.
    """
    serving.backend.init_forward_metadata(batch)
    attend(serving, batch, owners, layer)


def attend(
    serving: Serving, batch: Any, owners: Sequence[int], layer: Any = None
) -> None:
    """One layer of a batch whose metadata stands."""
    ends = batch.seq_lens.tolist()
    if batch.forward_mode.is_extend():
        starts, run = batch.extend_prefix_lens.tolist(), serving.backend.forward_extend
    else:
        starts, run = [end - 1 for end in ends], serving.backend.forward_decode
    k, v = (
        make_rows(kind, owners, starts, ends).flatten(1).to(torch.bfloat16)
        for kind in (K, V)
    )
    q = torch.zeros(len(k), Q_HEADS * HEAD_DIM, dtype=torch.bfloat16)
    run(q, k, v, layer or make_layer(), batch)


def with_empty_rows(batch: Any, positions: Sequence[int]) -> Any:
    """The same extend batch with rows of no token before the given positions."""
    columns = [
        batch.req_pool_indices.tolist(),
        list(batch.extend_prefix_lens_cpu),
        list(batch.extend_seq_lens_cpu),
    ]
    for position in sorted(positions, reverse=True):
        for column in columns:
            column.insert(position, 0)
    rows, prefix_lens, extend_lens = columns
    return extend_batch(
        torch.tensor(rows), prefix_lens, extend_lens, batch.out_cache_loc
    )
