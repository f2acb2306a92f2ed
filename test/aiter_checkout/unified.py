"""unified_attention and the reference of aiter's unified attention test."""

from __future__ import annotations

from typing import Any

import torch

from aiter_checkout.cases import BF16, FP8, FP16, Case, grid
from aiter_checkout.outcomes import Sides
from aiter_checkout.pair import Pair, Taken
from aiter_checkout.problem import Problem, in_pages
from aiter_checkout.tolerance import rounding
from aiter_reference import unified_attention
from aiter_reference.table_inputs import unified_arguments

FILE = "op_tests/triton_tests/attention/test_unified_attention.py"
KERNEL = "unified_attention"
OUTPUT_SCALE = 0.5


def _sides(taken: Taken, case: Case) -> Sides:
    problem = Problem.make(case)
    arguments = _arguments(taken, problem)
    return Sides(
        lambda: _expect(taken, problem, arguments),
        lambda: unified_attention(**arguments),
        rounding(problem, arguments["out"].dtype),
        problem.keyless,
    )


def _arguments(taken: Taken, problem: Problem) -> dict[str, Any]:
    case = problem.case
    arguments = unified_arguments(problem.inputs) | {
        "softmax_scale": case.softmax_scale,
        "window_size": case.window,
        "softcap": case.soft_cap,
        "sinks": problem.sinks,
    }
    if case.scales != "one":
        q, k, v = problem.descales
        arguments |= {"k_descale": k, "v_descale": v}
        arguments["q_descale"] = q if case.dtype == FP8 else None
    if case.beyond == "output_scale":
        arguments["output_scale"] = torch.tensor([OUTPUT_SCALE])
    if case.beyond == "shuffled_kv_cache":
        pools = arguments["k"], arguments["v"]
        arguments["k"], arguments["v"] = taken["shuffle_kv_cache"](*pools)
        arguments["shuffled_kv_cache"] = True
    return arguments


def _expect(taken: Taken, problem: Problem, arguments: dict[str, Any]) -> torch.Tensor:
    """The reference reads the stored values and applies the descales itself."""
    case = problem.case
    left = case.window[0]
    pools = (problem.k_pool, problem.v_pool)
    k, v = (in_pages(pool, case.page_size) for pool in pools)
    out: torch.Tensor = taken["ref_paged_attn"](
        arguments["q"],
        k,
        v,
        list(case.q_lens),
        list(case.k_lens),
        arguments["block_table"],
        case.softmax_scale,
        torch.float32,
        sliding_window=None if left < 0 else left + 1,
        soft_cap=case.soft_cap or None,
        sinks=problem.sinks,
        q_descale=arguments["q_descale"],
        k_descale=arguments["k_descale"],
        v_descale=arguments["v_descale"],
        output_scale=arguments.get("output_scale"),
    )
    return out


_BATCHES = (
    "ragged",
    "more queries than keys",
    "row without queries",
    "row without keys",
    "decode",
)
_DTYPES = (
    (BF16, None, "one"),
    (FP16, None, "one"),
    (BF16, FP8, "tensor"),
    (FP8, None, "tensor"),
)

TABLES = Pair(
    "ref_paged_attn",
    FILE,
    KERNEL,
    _sides,
    (
        *grid(
            page_size=(1, 16, 64),
            dtype__cache__scales=_DTYPES,
            heads=((2, 2), (8, 2)),
            window=((-1, -1), (0, -1), (15, 0), (63, -1)),
            soft_cap__sinks=((0.0, False), (5.0, False), (0.0, True), (5.0, True)),
            batch=_BATCHES,
        ),
        *grid(
            head_dim=(64, 256, 512), page_size=(16, 64), dtype__cache__scales=_DTYPES
        ),
        *grid(
            batch=("long", "long decode"),
            page_size=(16, 64),
            window=((-1, -1), (127, -1)),
            dtype__cache__scales=_DTYPES,
        ),
        *grid(heads=((8, 1), (16, 1)), dtype__cache__scales=_DTYPES),
        *grid(scale_factor=(0.5, 2.0), dtype__cache__scales=_DTYPES),
        *grid(beyond=("output_scale", "shuffled_kv_cache"), page_size=(16, 64)),
    ),
    also=("shuffle_kv_cache",),
    supplied={"e4m3_dtype": FP8},
)
