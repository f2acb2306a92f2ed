"""The 5D layout of the reference's inputs and aiter's own functions that make it."""

from __future__ import annotations

import torch

from aiter_checkout.cases import BF16, FP8, FP16, Case, grid
from aiter_checkout.gluon import FILE as GLUON
from aiter_checkout.outcomes import Sides
from aiter_checkout.pair import Pair, Taken
from aiter_checkout.prefill import FILE as PREFILL
from aiter_checkout.problem import Problem, in_pages
from aiter_checkout.tolerance import EXACT
from aiter_checkout.unified import FILE as UNIFIED
from aiter_checkout.unified import TABLES
from aiter_reference.table_inputs import vectorize
from aiter_reference.validation import VECTOR_BYTES

KERNEL = "table_inputs.vectorize"


def _as_bytes(*tensors: torch.Tensor) -> torch.Tensor:
    """All of them, flat: what is compared is where every byte is."""
    return torch.cat([tensor.view(torch.uint8).flatten() for tensor in tensors])


def _sides(problem: Problem, *expected: torch.Tensor, only_values: bool) -> Sides:
    k, v = vectorize(problem.k_pool, problem.v_pool, problem.case.page_size)
    shapes = [tuple(tensor.shape) for tensor in expected]
    made = [v] if only_values else [k, v]
    if shapes != [tuple(tensor.shape) for tensor in made]:
        # Bytes alone would hide it.
        made = [tensor.new_empty(0) for tensor in made]
    return Sides(
        lambda: _as_bytes(*expected),
        lambda: _as_bytes(*made),
        EXACT,
        torch.zeros(0, dtype=torch.bool),
    )


def _pages(problem: Problem) -> tuple[torch.Tensor, torch.Tensor]:
    size = problem.case.page_size
    k, v = (in_pages(pool, size) for pool in (problem.k_pool, problem.v_pool))
    return k, v


def _of_prefill(taken: Taken, case: Case) -> Sides:
    problem = Problem.make(case)
    vector = VECTOR_BYTES // case.dtype.itemsize
    settings = (case.heads[1], case.head_dim, case.page_size, vector)
    made = taken["vectorize_kv_cache"](*_pages(problem), *settings)
    return _sides(problem, *made, only_values=False)


def _of_unified(taken: Taken, case: Case) -> Sides:
    problem = Problem.make(case)
    made = taken["shuffle_kv_cache"](*_pages(problem))
    return _sides(problem, *made, only_values=False)


def _of_gluon(taken: Taken, case: Case) -> Sides:
    problem = Problem.make(case)
    values = _pages(problem)[1].permute(0, 2, 3, 1).contiguous()
    made = taken["shuffle_value_cache_layout"](values)
    return _sides(problem, made, only_values=True)


def _cases(*dtypes: torch.dtype) -> tuple[Case, ...]:
    return tuple(
        grid(
            dtype=dtypes,
            page_size=(16, 64),
            heads=((2, 2), (4, 2), (8, 1)),
            head_dim=(128, 256),
        )
    )


LAYOUTS = (
    Pair("vectorize_kv_cache", PREFILL, KERNEL, _of_prefill, _cases(BF16, FP16, FP8)),
    Pair(
        "shuffle_kv_cache",
        UNIFIED,
        KERNEL,
        _of_unified,
        _cases(BF16, FP8),
        supplied=TABLES.supplied,
    ),
    Pair(
        "shuffle_value_cache_layout",
        GLUON,
        KERNEL,
        _of_gluon,
        _cases(BF16, FP16, FP8),
    ),
)
