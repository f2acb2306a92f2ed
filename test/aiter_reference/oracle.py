"""Attention in float64 by plain loops, from the definition and from nothing else.

Per query and head: list the keys that are visible, find where each is stored, weigh.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]


def to_array(tensor: torch.Tensor) -> Array:
    array: Array = tensor.to(torch.float64).numpy()
    return array


def visible_keys(position: int, k_len: int, left: int, right: int) -> list[int]:
    """Keys of a row that a query at `position` sees; -1 is unbounded."""
    keys = []
    for key in range(k_len):
        too_old = left >= 0 and key < position - left
        too_new = right >= 0 and key > position + right
        if not too_old and not too_new:
            keys.append(key)
    return keys


def attend_query(
    q: Array,
    keys: Array,
    values: Array,
    scale: float,
    soft_cap: float = 0.0,
    sink: float | None = None,
) -> Array:
    """One query of one head, q [D], over its visible keys [n, D] and values [n, Dv]."""
    if len(keys) == 0:
        return np.zeros(values.shape[-1])
    scores = [scale * math.fsum(q * key) for key in keys]
    if soft_cap > 0:
        scores = [soft_cap * math.tanh(score / soft_cap) for score in scores]
    top = max(scores if sink is None else [*scores, sink])
    exponentials = [math.exp(score - top) for score in scores]
    total = math.fsum(exponentials)
    if sink is not None:
        total += math.exp(sink - top)
    out: Array = np.zeros(values.shape[-1])
    for exponential, value in zip(exponentials, values, strict=True):
        out += exponential / total * value
    return out


def attend_row(
    q: Array, k: Array, v: Array, left: int, right: int, **scoring: Any
) -> Array:
    """One row: q [Q, Hq, D], k [L, Hk, D], v [L, Hk, Dv] give [Q, Hq, Dv].

    Bottom-right: the last query is at the last key. `sinks` is one score per head.
    """
    queries, q_heads, _ = q.shape
    group = q_heads // k.shape[1]
    sinks = scoring.pop("sinks", None)
    out: Array = np.zeros((queries, q_heads, v.shape[2]))
    for query in range(queries):
        keys = visible_keys(len(k) - queries + query, len(k), left, right)
        for head in range(q_heads):
            sink = None if sinks is None else float(sinks[head])
            out[query, head] = attend_query(
                q[query, head],
                k[keys, head // group],
                v[keys, head // group],
                sink=sink,
                **scoring,
            )
    return out


def read_paged_row(
    row: int,
    pool: torch.Tensor,
    kv_indptr: torch.Tensor,
    kv_page_indices: torch.Tensor,
    kv_last_page_lens: torch.Tensor | None,
) -> Array:
    """The tokens of a row, one by one: pool [pages, page_size, Hk, D] to [L, Hk, D]."""
    page_size = pool.shape[1]
    first, end = int(kv_indptr[row]), int(kv_indptr[row + 1])
    tokens = []
    for entry in range(first, end):
        filled = page_size
        if entry == end - 1 and kv_last_page_lens is not None:
            filled = int(kv_last_page_lens[row])
        page = to_array(pool[int(kv_page_indices[entry])])
        tokens += [page[offset] for offset in range(filled)]
    return np.stack(tokens) if tokens else np.zeros((0, *pool.shape[2:]))


def assert_close(actual: torch.Tensor, expected: Array) -> None:
    """Equal but for the rounding of the output and float32 sums.

    Tolerance: one step of the output dtype (2**-8 for bfloat16, 2**-11 for float16),
    plus 2e-5, ten times what sums of this size differ by in float32.
    """
    step = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}[actual.dtype]
    got = to_array(actual)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    allowed = 2e-5 + step * np.abs(expected)
    # A NaN is never within tolerance.
    wrong = ~(np.abs(got - expected) <= allowed)
    worst = [
        f"{tuple(int(i) for i in at)}: got {got[tuple(at)]}, want {expected[tuple(at)]}"
        for at in np.argwhere(wrong)[:5]
    ]
    assert not wrong.any(), f"{int(wrong.sum())} of {wrong.size} differ: {worst}"
