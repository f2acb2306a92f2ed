"""paged_attention_ragged and the reference of aiter's ragged decode test."""

from __future__ import annotations

from typing import Any

import torch

from aiter_checkout.cases import BF16, FP8, FP16, Case, grid
from aiter_checkout.outcomes import Sides
from aiter_checkout.pair import Pair, Taken
from aiter_checkout.problem import Problem, in_pages
from aiter_checkout.tolerance import Tolerance, rounding
from aiter_reference import paged_attention_ragged
from aiter_reference.table_inputs import make_block_table

FILE = "op_tests/test_pa_ragged.py"
KERNEL = "paged_attention_ragged"

OF_AITER = Tolerance(
    3e-2,
    3e-2,
    "3e-2 + 3e-2 |x|, aiter's own in test_paged_attention_ragged_glm_gqa_fp8_kv_nhd",
)


def _sides(taken: Taken, case: Case) -> Sides:
    """With an fp8 cache both sides round the query to fp8, as aiter's kernel does."""
    problem = Problem.make(case)
    query = problem.inputs.q
    if case.cache == FP8:
        query = query.to(FP8)
    return _compare(taken, problem, query.float(), rounding(problem, case.dtype))


def _unrounded(taken: Taken, case: Case) -> Sides:
    """The reference keeps the query as it is: what an fp8 cache may cost at most."""
    problem = Problem.make(case)
    return _compare(taken, problem, problem.inputs.q.float(), OF_AITER)


def _compare(
    taken: Taken, problem: Problem, query: torch.Tensor, tolerance: Tolerance
) -> Sides:
    case = problem.case
    slopes = None
    if case.beyond == "alibi_slopes":
        slopes = 2.0 ** -torch.arange(1.0, case.heads[0] + 1)

    def expected() -> torch.Tensor:
        keys, values = (
            in_pages(pool, case.page_size).transpose(1, 2)
            for pool in (problem.k_pool_wide, problem.v_pool_wide)
        )
        out: torch.Tensor = taken["run_torch_new"](
            query,
            keys,
            values,
            make_block_table(problem.inputs),
            torch.tensor(case.k_lens),
            max(case.k_lens),
            "auto",
            case.heads[1],
            case.softmax_scale,
            slopes,
            case.soft_cap,
            torch.ones(1),
            torch.ones(1),
            case.heads[0] // case.heads[1],
        )[0]
        return out

    def actual() -> torch.Tensor:
        arguments = _arguments(problem) | {"alibi_slopes": slopes}
        return paged_attention_ragged(**arguments)

    return Sides(expected, actual, tolerance, problem.keyless)


def _arguments(problem: Problem) -> dict[str, Any]:
    case = problem.case
    arguments = problem.inputs.decode_arguments(paged=case.layout != "3D") | {
        "scale": case.softmax_scale,
        "logits_soft_cap": case.soft_cap,
        "k_scale": problem.descales[1],
        "v_scale": problem.descales[2],
    }
    if case.beyond == "HND":
        arguments["kv_cache_layout"] = "HND"
        for name in ("key_cache", "value_cache"):
            arguments[name] = arguments[name].transpose(1, 2).contiguous()
    return arguments


_POOLS = (("3D", 1), ("3D", 16), ("3D", 64), ("4D", 1), ("4D", 16), ("4D", 32))
_CACHES = ((BF16, None, "one"), (FP16, None, "one"), (BF16, FP8, "tensor"))

DECODE = Pair(
    "run_torch_new",
    FILE,
    KERNEL,
    _sides,
    (
        *grid(
            layout__page_size=_POOLS,
            dtype__cache__scales=(*_CACHES, (FP16, FP8, "one")),
            heads=((2, 2), (8, 2)),
            head_dim=(128, 256),
            soft_cap=(0.0, 5.0),
            batch=("decode",),
        ),
        *grid(
            batch=("long decode", "decode without keys"),
            layout__page_size=_POOLS,
            dtype__cache__scales=_CACHES,
        ),
        *grid(
            batch=("decode",),
            heads=((8, 1), (16, 1)),
            dtype__cache__scales=_CACHES,
        ),
        *grid(
            batch=("decode",),
            scale_factor=(0.5, 2.0),
            dtype__cache__scales=_CACHES,
        ),
        *grid(
            batch=("decode",),
            beyond=("alibi_slopes", "HND"),
            dtype__cache__scales=_CACHES,
        ),
    ),
)

# The heads and lengths of aiter's test, at SGLang's page size of 1: over fewer keys the
# rounding of a query is averaged less, and aiter claims nothing.
UNROUNDED = Pair(
    "run_torch_new",
    FILE,
    KERNEL,
    _unrounded,
    tuple(
        grid(
            batch=("decode of 128", "long decode"),
            layout__page_size=(("3D", 1), ("4D", 16)),
            cache=(FP8,),
            heads=((96, 8), (4, 2)),
            head_dim=(128, 256),
        )
    ),
    variant="query not rounded to fp8",
)
