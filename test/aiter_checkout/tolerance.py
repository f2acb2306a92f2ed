"""How far two computations of the same attention may be apart, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from aiter_checkout.problem import Problem, Row

EPS32 = torch.finfo(torch.float32).eps


@dataclass(frozen=True)
class Tolerance:
    """|actual - expected| <= relative * |expected| + absolute, everywhere.

    Attributes:
        source: where the two numbers come from, for the reader of the table.
    """

    relative: float
    absolute: float
    source: str


def rounding(problem: Problem, out_dtype: torch.dtype) -> Tolerance:
    """The tolerance of a problem, see `rounding_of_rows`."""
    return rounding_of_rows(
        problem.rows(), problem.case.head_dim**-0.5, problem.sinks, out_dtype
    )


def rounding_of_rows(
    rows: Sequence[Row],
    scale: float,
    sinks: torch.Tensor | None,
    out_dtype: torch.dtype,
) -> Tolerance:
    """One rounding to the dtype of the output, and float32 sums in another order.

    Both sides start from the same stored values and compute in float32; the reference
    is left in float32, and the kernel's output is rounded once, by at most half of
    eps. A float32 dot product is off by about eps32 times the sum of its terms'
    magnitudes, here at most S for a score, which moves every weight by that much of
    itself, and so the output by at most that much of the largest |v|. Twice, for the
    two sides; 1 + S, for the sum over V.
    """
    largest_score, largest_value = 0.0, 0.0
    for q, k, v in rows:
        if q.numel() == 0 or k.numel() == 0:
            continue
        magnitudes = q.abs().flatten(0, 1) @ k.abs().flatten(0, 1).T
        largest_score = max(largest_score, scale * float(magnitudes.max()))
        largest_value = max(largest_value, float(v.abs().max()))
    if sinks is not None:
        largest_score = max(largest_score, float(sinks.abs().max()))
    absolute = 2 * EPS32 * (1 + largest_score) * largest_value
    half = torch.finfo(out_dtype).eps / 2
    return Tolerance(half, absolute * (1 + half), SOURCE)


SOURCE = "eps / 2 |x| of the output dtype, and 2 eps32 (1 + S) max|v| of float32 sums"
EXACT = Tolerance(0.0, 0.0, "the same bytes in the same places")
