"""unified_attention on the inputs that aiter's test generates for it."""

from __future__ import annotations

from typing import Any

import torch

from aiter_checkout.cases import BF16, FP8, FP16, Case, grid
from aiter_checkout.outcomes import Sides
from aiter_checkout.pair import Pair, Taken
from aiter_checkout.problem import Row
from aiter_checkout.tolerance import rounding_of_rows
from aiter_checkout.unified import FILE, KERNEL
from aiter_reference import unified_attention

NAMES = (
    "query",
    "key_cache",
    "value_cache",
    "kernel_key_cache",
    "kernel_value_cache",
    "sinks",
    "output",
    "cu_query_lens",
    "kv_lens",
    "max_query_len",
    "max_kv_len",
    "scale",
    "window_size",
    "block_tables",
    "kernel_query",
    "query_scales",
    "q_descale",
    "k_descale",
    "v_descale",
    "output_scale",
)
"""What generate_data returns, in order."""


def _sides(taken: Taken, case: Case) -> Sides:
    data = _generate(taken, case)
    out = data["output"]
    q_lens, k_lens = torch.tensor(case.q_lens), torch.tensor(case.k_lens)
    positions = [torch.arange(k - q, k) for q, k in zip(q_lens, k_lens, strict=True)]
    return Sides(
        lambda: _expect(taken, case, data),
        lambda: unified_attention(**_arguments(case, data)),
        rounding_of_rows(_rows(case, data), data["scale"], data["sinks"], out.dtype),
        torch.cat(positions) < 0,
    )


def _generate(taken: Taken, case: Case) -> dict[str, Any]:
    pages = -(-max(case.k_lens) // case.page_size) * len(case.k_lens)
    # It seeds torch's own generator.
    with torch.random.fork_rng(devices=[]):
        made = taken["generate_data"](
            list(zip(case.q_lens, case.k_lens, strict=True)),
            num_blocks=pages + 8,
            block_size=case.page_size,
            head_size=case.head_dim,
            num_heads=case.heads,
            sliding_window=None if case.window[0] < 0 else case.window[0] + 1,
            q_dtype=case.dtype,
            kv_dtype=case.cache or case.dtype,
            out_dtype=BF16 if case.dtype == FP8 else case.dtype,
            use_q_descale=case.dtype == FP8,
            use_kv_descale=case.scales != "one",
        )
    return dict(zip(NAMES, made, strict=True))


def _arguments(case: Case, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "q": data["kernel_query"],
        "k": data["kernel_key_cache"],
        "v": data["kernel_value_cache"],
        "out": data["output"],
        "cu_seqlens_q": data["cu_query_lens"],
        "max_seqlen_q": data["max_query_len"],
        "seqused_k": data["kv_lens"],
        "max_seqlen_k": data["max_kv_len"],
        "softmax_scale": data["scale"],
        "causal": True,
        "window_size": data["window_size"],
        "block_table": data["block_tables"],
        "softcap": case.soft_cap,
        "q_descale": data["q_descale"],
        "k_descale": data["k_descale"],
        "v_descale": data["v_descale"],
        "q_scales": data["query_scales"],
        "output_scale": data["output_scale"],
        "sinks": data["sinks"],
    }


def _expect(taken: Taken, case: Case, data: dict[str, Any]) -> torch.Tensor:
    same = ("query", "key_cache", "value_cache", "block_tables", "scale", "sinks")
    scales = ("q_descale", "k_descale", "v_descale", "output_scale")
    out: torch.Tensor = taken["ref_paged_attn"](
        **{name: data[name] for name in (*same, *scales)},
        query_lens=list(case.q_lens),
        kv_lens=list(case.k_lens),
        out_dtype=torch.float32,
        sliding_window=None if case.window[0] < 0 else case.window[0] + 1,
        soft_cap=case.soft_cap or None,
    )
    return out


def _rows(case: Case, data: dict[str, Any]) -> list[Row]:
    """For the tolerance, of which the whole pool is a bound."""
    q, k, v = (
        data[name].float() * (1 if data[descale] is None else data[descale])
        for name, descale in (
            ("query", "q_descale"),
            ("key_cache", "k_descale"),
            ("value_cache", "v_descale"),
        )
    )
    return [(q, k.flatten(0, 1), v.flatten(0, 1))]


GENERATED = Pair(
    "ref_paged_attn",
    FILE,
    KERNEL,
    _sides,
    tuple(
        grid(
            batch=("ragged", "more queries than keys", "decode", "long"),
            page_size=(16, 64),
            heads=((8, 8), (8, 2)),
            head_dim=(64, 256),
            window=((-1, -1), (31, 0)),
            soft_cap=(0.0, 5.0),
            dtype__cache__scales=(
                (BF16, None, "one"),
                (FP16, None, "one"),
                (BF16, FP8, "tensor"),
                (FP8, None, "tensor"),
            ),
        )
    ),
    also=("generate_data",),
    supplied={"e4m3_dtype": FP8},
    variant="inputs of generate_data",
)
