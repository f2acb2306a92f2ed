"""Both prefill kernels and aiter's own general reference, over padded batches."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from aiter_checkout.cases import BF16, FNUZ, FP8, FP16, Case, grid
from aiter_checkout.outcomes import Sides
from aiter_checkout.pair import Pair, Taken
from aiter_checkout.prefill import KERNEL as PAGED
from aiter_checkout.prefill import prefill_sides
from aiter_checkout.problem import Problem
from aiter_checkout.tolerance import rounding
from aiter_reference import flash_attn_varlen_fp8_pertensor_func
from aiter_reference.inputs import offsets

FILE = "aiter/test_mha_common.py"
VARLEN = "flash_attn_varlen_fp8_pertensor_func"


def _paged_sides(taken: Taken, case: Case) -> Sides:
    problem = Problem.make(case)
    return prefill_sides(problem, partial(_expect, taken, problem))


def _varlen_sides(taken: Taken, case: Case) -> Sides:
    problem = Problem.make(case)
    return Sides(
        partial(_expect, taken, problem),
        lambda: flash_attn_varlen_fp8_pertensor_func(**_packed(problem)),
        rounding(problem, BF16),
        problem.keyless,
    )


def _packed(problem: Problem) -> dict[str, Any]:
    """Keywords of the kernel: K and V row after row, then a few tokens of no row."""
    case = problem.case
    slots = problem.inputs.slots[: sum(case.k_lens)].long()
    k, v = (
        torch.cat([pool.float()[slots], torch.full_like(pool[:3].float(), torch.nan)])
        for pool in (problem.k_pool, problem.v_pool)
    )
    names = ("q_descale", "k_descale", "v_descale")
    return {
        "q": problem.inputs.q,
        "k": k.to(case.dtype),
        "v": v.to(case.dtype),
        "cu_seqlens_q": offsets(case.q_lens),
        "cu_seqlens_k": offsets(case.k_lens),
        "max_seqlen_q": max(case.q_lens),
        "max_seqlen_k": problem.max_seqlen_k,
        "causal": case.causal,
        "window_size": (*case.window, SINK_SIZE if case.beyond else 0),
        "logits_soft_cap": case.soft_cap,
        "softmax_scale": None if case.scale_factor == 1 else case.softmax_scale,
        "sink_ptr": problem.sinks,
        **dict(zip(names, problem.descales, strict=True)),
    }


SINK_SIZE = 4


def _expect(taken: Taken, problem: Problem) -> torch.Tensor:
    """[query tokens, Hq, Dv], of attention_ref on the padded batch."""
    case, rows = problem.case, problem.rows()
    padded = [
        torch.nn.utils.rnn.pad_sequence(list(part), batch_first=True)
        for part in zip(*rows, strict=True)
    ]
    q_real, k_real = (
        torch.arange(max(lens))[None] < torch.tensor(lens)[:, None]
        for lens in (case.q_lens, case.k_lens)
    )
    out: torch.Tensor = taken["attention_ref"](
        *padded,
        query_padding_mask=q_real,
        key_padding_mask=k_real,
        causal=case.causal,
        window_size=case.window,
        softcap=case.soft_cap,
        sink=problem.sinks,
    )[0]
    return out[q_real]


_WINDOWS = ((-1, -1), (0, -1), (20, -1), (20, 5), (-1, 3))
_BATCHES = (
    "ragged",
    "more queries than keys",
    "row without queries",
    "row without keys",
)
# The cases of known.py, but that max_seqlen_k leaves the bound in force.
_ROOMY: dict[str, tuple[Any, ...]] = {
    "batch": ("more queries than keys",),
    "window": ((20, 5),),
    "causal": (False,),
    "spare_keys": (32,),
    "soft_cap__sinks": ((0.0, False), (5.0, False), (0.0, True)),
}

PREFILL = Pair(
    "attention_ref",
    FILE,
    PAGED,
    _paged_sides,
    (
        *grid(
            layout__page_size=(("3D", 1), ("4D", 16), ("4D", 64)),
            dtype__scales=((BF16, "one"), (FP16, "one"), (FP8, "tensor")),
            window=_WINDOWS,
            causal=(True, False),
            soft_cap__sinks=((0.0, False), (5.0, False), (0.0, True)),
            batch=_BATCHES,
        ),
        *grid(value_dim=(64,), causal=(True, False), dtype=(BF16, FP16)),
        *grid(**_ROOMY, dtype__scales=((BF16, "one"), (FP8, "tensor"))),
        *grid(batch=("long",), layout__page_size=(("3D", 16), ("4D", 64))),
    ),
)

PACKED = Pair(
    "attention_ref",
    FILE,
    VARLEN,
    _varlen_sides,
    (
        *grid(
            dtype=(FP8,),
            scales=("one", "tensor", "row and head"),
            heads=((2, 2), (8, 2)),
            head_dim=(128, 256),
            causal=(True, False),
            window=((-1, -1), (20, -1)),
            soft_cap__sinks=((0.0, False), (5.0, True)),
            batch=(*_BATCHES, "long"),
        ),
        *grid(
            dtype=(FP8,),
            window=_WINDOWS,
            causal=(True, False),
            sinks=(True, False),
            batch=_BATCHES,
        ),
        *grid(dtype=(FP8, FNUZ), value_dim=(64,), scale_factor=(0.5, 1.0, 2.0)),
        *grid(dtype=(FP8, FNUZ), scale_factor=(0.5, 2.0)),
        *grid(dtype=(FP8,), heads=((8, 1), (16, 1)), causal=(True, False)),
        *grid(**_ROOMY, dtype=(FP8,)),
        *grid(dtype=(FP8,), beyond=("window_size[2]",), window=((20, -1),)),
    ),
)
