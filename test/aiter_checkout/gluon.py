"""pa_decode_gluon and the reference of aiter's gluon decode test."""

from __future__ import annotations

from typing import Any

import torch

from aiter_checkout.cases import BF16, FP8, FP16, Case, grid
from aiter_checkout.outcomes import Sides
from aiter_checkout.pair import Pair, Taken
from aiter_checkout.problem import Problem, in_pages
from aiter_checkout.tolerance import rounding
from aiter_reference import pa_decode_gluon
from aiter_reference.inputs import offsets
from aiter_reference.table_inputs import gluon_arguments

FILE = "op_tests/triton_tests/test_pa_decode_gluon.py"
KERNEL = "pa_decode_gluon"


def _sides(taken: Taken, case: Case) -> Sides:
    problem = Problem.make(case)
    arguments = _arguments(problem)

    def actual() -> torch.Tensor:
        pa_decode_gluon(**arguments)
        output: torch.Tensor = arguments["output"]
        return output

    return Sides(
        lambda: _expect(taken, problem, arguments),
        actual,
        rounding(problem, case.dtype),
        problem.keyless,
    )


def _arguments(problem: Problem) -> dict[str, Any]:
    """`window` of the case is (W, -1) for a sliding_window of W, of W - 1 keys."""
    case = problem.case
    arguments = gluon_arguments(problem.inputs) | {
        "softmax_scale": case.softmax_scale,
        "sliding_window": max(case.window[0], 0),
        "sinks": problem.sinks,
    }
    if case.scales != "one":
        arguments |= {
            "key_scale": problem.descales[1],
            "value_scale": problem.descales[2],
        }
    if case.beyond == "query_length":
        arguments["query_length"] = 2
    return arguments


def _expect(taken: Taken, problem: Problem, arguments: dict[str, Any]) -> torch.Tensor:
    """The reference takes the vectorised K, V before its last shuffle, and a scale for
    every token."""
    case = problem.case
    values = in_pages(problem.v_pool, case.page_size).permute(0, 2, 3, 1)
    tokens, heads = problem.k_pool.shape[:2]
    k_scale, v_scale = (
        None if case.scales == "one" else scale.expand(heads, tokens)
        for scale in problem.descales[1:]
    )
    out: torch.Tensor = taken["torch_mha_extend"](
        problem.inputs.q.float(),
        arguments["key_cache"],
        values.contiguous(),
        arguments["block_tables"],
        torch.tensor(case.k_lens),
        offsets(case.q_lens),
        k_scale,
        v_scale,
        sinks=problem.sinks,
        sliding_window=arguments["sliding_window"],
    )
    return out


_CACHES = (
    (BF16, None, "one"),
    (FP16, None, "one"),
    (BF16, FP8, "tensor"),
    (FP16, FP8, "one"),
)

DECODE = Pair(
    "torch_mha_extend",
    FILE,
    KERNEL,
    _sides,
    (
        *grid(
            batch=("decode",),
            page_size=(16, 64),
            dtype__cache__scales=_CACHES,
            heads=((2, 2), (8, 2)),
            head_dim=(128, 256),
            window=((-1, -1), (2, -1), (3, -1), (17, -1), (128, -1)),
            sinks=(True, False),
        ),
        *grid(
            batch=("long decode", "decode without keys"),
            page_size=(16, 64, 1024),
            dtype__cache__scales=_CACHES,
            window=((-1, -1), (128, -1)),
            sinks=(True, False),
        ),
        *grid(
            batch=("decode",),
            heads=((8, 1), (16, 1)),
            dtype__cache__scales=_CACHES,
        ),
        *grid(batch=("decode",), beyond=("query_length",)),
    ),
)
