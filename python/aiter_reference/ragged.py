"""Attention over packed queries, one sequence at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from aiter_reference.attention import Scoring, attend
from aiter_reference.visibility import Band

ReadKV = Callable[[int, int, int], tuple[torch.Tensor, torch.Tensor]]
"""(row, first, end) -> K and V of its keys [first, end), [1, Hk, n, D] float32."""


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
        q: [tokens, Hq, D], any float dtype that float() reads.
        out: [tokens, Hq, Dv]; tokens of no row are left as they are.
        q_starts: rows + 1 token offsets into q.
        k_lens: keys per row.
        scoring: one row per sequence.
    """
    for row, k_len in enumerate(k_lens):
        start, end = q_starts[row], q_starts[row + 1]
        q_len = end - start
        if q_len == 0:
            continue
        if k_len == 0:
            out[start:end] = 0
            continue
        k, v = read(row, band.first_key(q_len, k_len), k_len)
        visible = band.visible(q_len, k_len, q.device)
        scored = scoring.select(slice(row, row + 1))
        result = attend(q[None, start:end].float(), k, v, visible, scored)
        out[start:end] = result[0].to(out.dtype)
