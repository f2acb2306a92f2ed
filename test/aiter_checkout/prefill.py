"""mha_batch_prefill_func and the references of aiter's batch prefill test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from aiter_checkout.cases import BF16, FNUZ, FP8, FP16, Case, grid
from aiter_checkout.outcomes import Sides
from aiter_checkout.pair import Pair, Taken
from aiter_checkout.problem import Problem, in_pages
from aiter_checkout.tolerance import rounding
from aiter_reference import mha_batch_prefill_func
from aiter_reference.fp8 import FP8_DTYPES
from aiter_reference.table_inputs import make_block_table, vectorize

FILE = "op_tests/test_batch_prefill.py"
KERNEL = "mha_batch_prefill_func"
SINK_SIZE = 4

Expected = Callable[[], torch.Tensor]


def prefill_sides(problem: Problem, expected: Expected) -> Sides:
    """The kernel over the problem's pool, against `expected`."""
    dtype = problem.case.dtype
    out = BF16 if dtype in FP8_DTYPES else dtype
    return Sides(
        expected,
        lambda: mha_batch_prefill_func(**_arguments(problem)),
        rounding(problem, out),
        problem.keyless,
    )


def _arguments(problem: Problem) -> dict[str, Any]:
    case, inputs = problem.case, problem.inputs
    arguments = inputs.prefill_arguments(case.layout != "3D") | {
        "max_seqlen_k": problem.max_seqlen_k,
        "causal": case.causal,
        "window_size": case.window,
        "logits_soft_cap": case.soft_cap,
        "softmax_scale": None if case.scale_factor == 1 else case.softmax_scale,
        "sink_ptr": problem.sinks,
    }
    if case.layout == "3D":
        arguments["v"] = problem.v_pool
    elif case.layout == "4D":
        arguments["v"] = in_pages(problem.v_pool, case.page_size)
    else:
        pair = vectorize(problem.k_pool, problem.v_pool, case.page_size)
        arguments["k"], arguments["v"] = pair
    if case.scales != "one":
        names = ("q_descale", "k_descale", "v_descale")
        arguments |= dict(zip(names, problem.descales, strict=True))
    if case.beyond == "block_table":
        arguments["block_table"] = make_block_table(inputs)[: len(case.k_lens)]
        arguments["seqlen_k"] = torch.tensor(case.k_lens, dtype=torch.int32)
    if case.beyond == "sink_size":
        arguments["sink_size"] = SINK_SIZE
    return arguments


def _by_pages(taken: Taken, case: Case) -> Sides:
    """build_reference_output walks the page table itself."""
    problem = Problem.make(case)
    table = problem.inputs.prefill_arguments(paged=case.layout != "3D")
    page_size = case.page_size if case.layout != "3D" else 1
    pools = (problem.k_pool_wide, problem.v_pool_wide)
    pages = torch.stack([in_pages(pool, page_size) for pool in pools], 1)
    last = table.get("kv_last_page_lens", torch.ones(len(case.k_lens)).int())

    def expected() -> torch.Tensor:
        out: torch.Tensor = taken["build_reference_output"](
            problem.q_wide,
            table["cu_seqlens_q"],
            pages,
            table["kv_page_indices"],
            table["kv_indptr"],
            last,
            case.heads[1],
            case.head_dim,
            torch.float32,
            case.causal,
            case.soft_cap,
        )
        return out

    return prefill_sides(problem, expected)


def _by_rows(taken: Taken, case: Case) -> Sides:
    """ref_masked_attention knows a causal window, row by row."""
    problem = Problem.make(case)

    def expected() -> torch.Tensor:
        return torch.cat(
            [
                taken["ref_masked_attention"](
                    q,
                    *_repeat(case, k, v),
                    causal=case.causal,
                    window_left=case.window[0],
                    logits_soft_cap=case.soft_cap,
                )
                for q, k, v in problem.rows()
            ]
        )

    return prefill_sides(problem, expected)


def _with_sink(taken: Taken, case: Case) -> Sides:
    """ref_masked_attention_with_sink is always causal."""
    problem = Problem.make(case)
    sink_size = SINK_SIZE if case.beyond == "sink_size" else 0

    def expected() -> torch.Tensor:
        return torch.cat(
            [
                taken["ref_masked_attention_with_sink"](
                    q, *_repeat(case, k, v), case.window[0], sink_size, problem.sinks
                )
                for q, k, v in problem.rows()
            ]
        )

    return prefill_sides(problem, expected)


def _repeat(case: Case, *tensors: torch.Tensor) -> list[torch.Tensor]:
    """K and V with a head for every query head, as these references take them."""
    group = case.heads[0] // case.heads[1]
    return [tensor.repeat_interleave(group, dim=1) for tensor in tensors]


_POOLS = (("3D", 1), ("3D", 16), ("4D", 1), ("4D", 16), ("4D", 64))
_DTYPES = ((BF16, "one"), (FP16, "one"), (FP8, "tensor"))
_BATCHES = ("ragged", "more queries than keys", "row without queries")

PAGES = Pair(
    "build_reference_output",
    FILE,
    KERNEL,
    _by_pages,
    (
        *grid(
            layout__page_size=_POOLS,
            dtype__scales=_DTYPES,
            heads=((2, 2), (8, 2)),
            head_dim=(128, 256),
            causal=(True, False),
            soft_cap=(0.0, 5.0),
            batch=_BATCHES,
        ),
        *grid(
            batch=("long",),
            layout__page_size=(("4D", 64), ("4D", 1024)),
            dtype__scales=(*_DTYPES, (FNUZ, "tensor"), (FP8, "one")),
            head_dim=(256,),
            causal=(True, False),
        ),
        *grid(scale_factor=(0.5, 2.0), layout__page_size=_POOLS),
        *grid(heads=((8, 1), (16, 1)), dtype__scales=_DTYPES),
        *grid(batch=("row without keys",), layout__page_size=_POOLS),
        *grid(
            layout__beyond=(("5D", "a vectorised pool"),),
            page_size=(16, 64),
            dtype__scales=_DTYPES,
        ),
        *grid(beyond=("block_table",), page_size=(16, 64), dtype__scales=_DTYPES),
    ),
)

ROWS = Pair(
    "ref_masked_attention",
    FILE,
    KERNEL,
    _by_rows,
    (
        *grid(
            layout__page_size=_POOLS,
            dtype__scales=_DTYPES,
            window=((-1, -1), (0, -1), (1, -1), (20, -1), (63, -1)),
            soft_cap=(0.0, 5.0),
            batch=(*_BATCHES, "row without keys"),
        ),
        *grid(
            batch=("long",),
            layout__page_size=(("4D", 64), ("4D", 1024)),
            window=((63, -1), (127, -1), (1023, -1)),
            dtype__scales=_DTYPES,
        ),
    ),
)

SINK = Pair(
    "ref_masked_attention_with_sink",
    FILE,
    KERNEL,
    _with_sink,
    (
        *grid(
            layout__page_size=_POOLS,
            dtype=(BF16, FP16),
            heads=((4, 2), (8, 1)),
            window=((-1, -1), (0, -1), (20, -1)),
            sinks=(True, False),
            batch=(*_BATCHES, "row without keys"),
        ),
        *grid(batch=("long",), page_size=(64,), window=((127, -1),), sinks=(True,)),
        *grid(beyond=("sink_size",), window=((20, -1),), sinks=(True, False)),
    ),
)
