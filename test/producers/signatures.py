"""K and V rows that name the token they belong to, exactly in fp8."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from producers.serving import FP8, HEAD_DIM, KV_HEADS

K, V = 1, 2
# Integers below 16 are exact in float8_e4m3fn.
BASE = 16
POISON = 0x7F  # NaN in float8_e4m3fn.


def make_rows(
    kind: int, owners: Sequence[int], starts: Sequence[int], ends: Sequence[int]
) -> torch.Tensor:
    """Rows of the tokens [start, end) of each owner, one sequence after another.

    Args:
        kind: K or V.
        owners: one number below 256 for each sequence.

    Returns:
        [tokens, KV_HEADS, HEAD_DIM] float8_e4m3fn.
    """
    owner = torch.cat(
        [
            torch.full((end - start,), number)
            for number, start, end in zip(owners, starts, ends, strict=True)
        ]
    )
    position = torch.cat(
        [torch.arange(start, end) for start, end in zip(starts, ends, strict=True)]
    )
    digits = [torch.full_like(owner, kind)]
    for number, count in ((owner, 2), (position, 3)):
        digits += [number // BASE**i % BASE for i in range(count)]
    token = torch.stack(digits, dim=1)
    head = torch.arange(KV_HEADS).expand(len(owner), -1)
    cells = torch.cat((token[:, None].expand(-1, KV_HEADS, -1), head[..., None]), dim=2)
    width = cells.shape[2]
    repeated = cells.repeat(1, 1, -(-HEAD_DIM // width))[..., :HEAD_DIM]
    return repeated.to(FP8)


def describe_rows(rows: torch.Tensor) -> list[str]:
    """Which token each row is, in words."""
    cells = rows[:, 0, :6].float().nan_to_num(-1).int().tolist()
    kinds = {K: "K", V: "V"}
    return [
        f"{kinds.get(kind, '?')} of token {t0 + BASE * t1 + BASE**2 * t2}"
        f" of {o0 + BASE * o1}"
        for kind, o0, o1, t0, t1, t2 in cells
    ]


def require_rows(got: torch.Tensor, want: torch.Tensor) -> None:
    """Fail, naming tokens, unless both are the same rows byte for byte."""
    assert got.shape == want.shape, (tuple(got.shape), tuple(want.shape))
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    a, b = (rows.contiguous().view(torch.uint8).flatten(1) for rows in (got, want))
    wrong = (a != b).any(1).nonzero().flatten()
    if len(wrong):
        first = wrong[:4]
        raise AssertionError(
            f"{len(wrong)} of {len(want)} rows are another token's: at {first.tolist()}"
            f" {describe_rows(got[first])}, not {describe_rows(want[first])}"
        )
