"""flash_attn_varlen_fp8_pertensor_func against the float64 loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from aiter_reference import flash_attn_varlen_fp8_pertensor_func
from aiter_reference.inputs import Shape, make_varlen_inputs

from .oracle import Array, assert_close, attend_row, to_array

# A prefix, no keys, no queries, no prefix, more queries than keys, one query.
Q_LENS = (5, 2, 0, 13, 4, 1)
K_LENS = (41, 0, 9, 13, 2, 30)
HEADS = [(2, 2), (4, 2), (4, 1), (8, 1), (16, 1)]


def expect(arguments: dict[str, Any], left: int, right: int, **scoring: Any) -> Array:
    """[tokens, Hq, Dv] of the call with these arguments and all descales [rows, Hk]."""
    rows = []
    cu_q, cu_k = arguments["cu_seqlens_q"], arguments["cu_seqlens_k"]
    for row in range(len(cu_q) - 1):
        tokens = slice(int(cu_k[row]), int(cu_k[row + 1]))
        q = to_array(arguments["q"][int(cu_q[row]) : int(cu_q[row + 1])])
        k, v = to_array(arguments["k"][tokens]), to_array(arguments["v"][tokens])
        q_heads = q.shape[1] // k.shape[1]
        q = q * np.repeat(_descale(arguments["q_descale"], row, k), q_heads)[:, None]
        k = k * _descale(arguments["k_descale"], row, k)[:, None]
        v = v * _descale(arguments["v_descale"], row, v)[:, None]
        rows.append(attend_row(q, k, v, left, right, **scoring))
    return np.concatenate(rows)


def _descale(descale: torch.Tensor, row: int, k: Array) -> Array:
    """[Hk]"""
    if descale.numel() == 1:
        return np.full(k.shape[1], float(descale))
    return to_array(descale[row])


def make(seed: int = 0, **shape: Any) -> dict[str, Any]:
    return make_varlen_inputs(seed, Shape(Q_LENS, K_LENS, **shape))


@pytest.mark.parametrize("head_dim", [128, 256])
@pytest.mark.parametrize(("q_heads", "kv_heads"), HEADS)
def test_matches_oracle_with_unequal_descales(
    q_heads: int, kv_heads: int, head_dim: int
) -> None:
    arguments = make(q_heads=q_heads, kv_heads=kv_heads, head_dim=head_dim)
    arguments |= {
        "q_descale": torch.tensor([2.0]),
        "k_descale": torch.tensor([0.5]),
        "v_descale": torch.tensor([0.25]),
    }
    actual = flash_attn_varlen_fp8_pertensor_func(**arguments)
    assert actual.dtype == torch.bfloat16
    assert_close(actual, expect(arguments, -1, 0, scale=head_dim**-0.5))


def test_descales_per_row_and_head() -> None:
    arguments = make()
    generator = torch.Generator().manual_seed(1)
    for name in ("q_descale", "k_descale", "v_descale"):
        arguments[name] = torch.rand(len(Q_LENS), 2, generator=generator) + 0.5
    actual = flash_attn_varlen_fp8_pertensor_func(**arguments)
    assert_close(actual, expect(arguments, -1, 0, scale=256**-0.5))


@pytest.mark.parametrize("left", [-1, 100, 3])
@pytest.mark.parametrize("right", [0, 2])
def test_more_queries_than_one_block(left: int, right: int) -> None:
    # A last block of 1, more queries than keys by over a block, blocks of 64 and 6.
    q_lens, k_lens = (129, 90, 70), (190, 20, 70)
    arguments = make_varlen_inputs(0, Shape(q_lens, k_lens, 2, 1, head_dim=16))
    actual = flash_attn_varlen_fp8_pertensor_func(
        **arguments | {"causal": right == 0},
        window_size=(left, right, 0),
        softmax_scale=0.3,
    )
    assert_close(actual, expect(arguments, left, right, scale=0.3))


def test_nan_key_reaches_the_queries_that_see_it_only() -> None:
    arguments = make_varlen_inputs(0, Shape((129,), (190,), 2, 1, head_dim=16))
    expected = flash_attn_varlen_fp8_pertensor_func(**arguments)
    # Key 170 is the own key of query 109, in the middle of a block.
    for name in ("k", "v"):
        arguments[name].view(torch.uint8)[170] = 0x7F
    actual = flash_attn_varlen_fp8_pertensor_func(**arguments)
    assert torch.equal(actual[:109], expected[:109])
    assert bool(actual[109:].isnan().all()), actual[109:]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [(-1, -1, 0), (0, -1, 0), (7, 3, 0), (-1, 2)])
@pytest.mark.parametrize("soft_cap", [0.0, 5.0])
def test_window_and_soft_cap(
    causal: bool, window: tuple[int, ...], soft_cap: float
) -> None:
    arguments = make(head_dim=128)
    actual = flash_attn_varlen_fp8_pertensor_func(
        **arguments | {"causal": causal},
        window_size=window,
        logits_soft_cap=soft_cap,
        softmax_scale=0.3,
    )
    right = 0 if causal else window[1]
    assert_close(
        actual, expect(arguments, window[0], right, scale=0.3, soft_cap=soft_cap)
    )


def test_sinks_take_weight_and_give_no_value() -> None:
    arguments = make()
    sinks = torch.tensor([-2.0, 0.0, 1.5, 40.0])
    actual = flash_attn_varlen_fp8_pertensor_func(**arguments, sink_ptr=sinks)
    expected = expect(arguments, -1, 0, scale=256**-0.5, sinks=sinks.tolist())
    assert_close(actual, expected)


def test_differing_value_dim() -> None:
    arguments = make(head_dim=256)
    arguments["v"] = arguments["v"][..., :128].contiguous()
    actual = flash_attn_varlen_fp8_pertensor_func(**arguments)
    assert_close(actual, expect(arguments, -1, 0, scale=256**-0.5))


def test_tokens_behind_the_last_row_are_zero() -> None:
    arguments = make()
    q = arguments["q"]
    arguments["q"] = torch.cat([q, q[:3]])
    actual = flash_attn_varlen_fp8_pertensor_func(**arguments)
    assert_close(actual[: len(q)], expect(arguments, -1, 0, scale=256**-0.5))
    assert not actual[len(q) :].any(), actual[len(q) :]
