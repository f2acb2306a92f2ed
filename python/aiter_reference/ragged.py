"""Attention over packed queries, one sequence at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from aiter_reference.attention import Scoring, attend
from aiter_reference.fp8 import widen
from aiter_reference.visibility import Band

ReadKV = Callable[[int, int, int], tuple[torch.Tensor, torch.Tensor]]
"""(row, first, end) -> K and V of its keys [first, end), [1, Hk, n, D] float32."""

# Causal queries are taken this many at a time, each time with the keys up to the last
# of them: 256 queries of 512 keys took 8.4 ms at once, 6.2 ms in blocks of 64, 6.6 ms
# of 32 and 6.8 ms of 128 (one core).
_QUERY_BLOCK = 64


def attend_ragged(
    q: torch.Tensor,
    out: torch.Tensor,
    q_starts: Sequence[int],
    k_lens: Sequence[int],
    read: ReadKV,
    band: Band,
    scoring: Scoring,
) -> None:
    """Write the attention of every row's queries into `out`.

    A loop over sequences: their lengths differ too much in a prefill for padding to
    pay. Keys that no query of a row sees are never read.

    Args:
        q: [tokens, Hq, D], any float dtype.
        out: [tokens, Hq, Dv]; tokens of no row are left as they are.
        q_starts: rows + 1 token offsets into q.
        k_lens: keys per row.
        scoring: one row per sequence.
    """
    for row, k_len in enumerate(k_lens):
        start, end = q_starts[row], q_starts[row + 1]
        if start == end:
            continue
        if k_len == 0:
            out[start:end] = 0
            continue
        first = band.first_key(end - start, k_len)
        k, v = read(row, first, k_len)
        step = _QUERY_BLOCK if band.right == 0 else end - start
        for begin in range(start, end, step):
            stop = min(begin + step, end)
            # The queries are the last of a row that ends with the last key they see.
            q_len, seen = stop - begin, k_len - (end - stop)
            if seen <= 0:
                out[begin:stop] = 0
                continue
            keys = slice(band.first_key(q_len, seen) - first, seen - first)
            visible = band.visible(q_len, seen, q.device)
            result = attend(
                widen(q[None, begin:stop]),
                k[:, :, keys],
                v[:, :, keys],
                visible,
                scoring.select(slice(row, row + 1)),
            )
            out[begin:stop] = result[0].to(out.dtype)
