"""mha_batch_prefill_func against the float64 loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from aiter_reference import mha_batch_prefill_func
from aiter_reference.inputs import Shape, make_paged_inputs

from .oracle import Array, assert_close, attend_row, read_paged_row, to_array

# A long prefix, no keys, no queries, no prefix, more queries than keys, one query.
Q_LENS = (5, 2, 0, 11, 4, 1)
K_LENS = (141, 0, 9, 11, 2, 64)
HEADS = [(2, 2), (4, 2), (4, 1), (8, 1), (16, 1)]
FP8 = torch.float8_e4m3fn


def expect(
    arguments: dict[str, Any], left: int, right: int, scale: float, **scoring: Any
) -> Array:
    """[tokens, Hq, D] of the call with these arguments, but for descales."""
    k_rows, v_rows = (
        arguments[name] if arguments[name].ndim == 4 else arguments[name][:, None]
        for name in ("k", "v")
    )
    table = (
        arguments["kv_indptr"],
        arguments["kv_page_indices"],
        arguments.get("kv_last_page_lens"),
    )
    cu_q = arguments["cu_seqlens_q"]
    rows = []
    for row in range(len(cu_q) - 1):
        q = to_array(arguments["q"][int(cu_q[row]) : int(cu_q[row + 1])])
        k, v = (read_paged_row(row, pool, *table) for pool in (k_rows, v_rows))
        rows.append(attend_row(q, k, v, left, right, scale=scale, **scoring))
    return np.concatenate(rows)


def make(page_size: int = 16, paged: bool = True, **shape: Any) -> dict[str, Any]:
    inputs = make_paged_inputs(0, Shape(Q_LENS, K_LENS, **shape), page_size)
    return inputs.prefill_arguments(paged)


def descales(*values: float) -> dict[str, Any]:
    names = ("q_descale", "k_descale", "v_descale")
    return {
        name: torch.tensor([value]) for name, value in zip(names, values, strict=True)
    }


@pytest.mark.parametrize("page_size", [1, 16, 64])
@pytest.mark.parametrize("head_dim", [128, 256])
@pytest.mark.parametrize(("q_heads", "kv_heads"), HEADS)
def test_matches_oracle_by_page(
    q_heads: int, kv_heads: int, head_dim: int, page_size: int
) -> None:
    arguments = make(page_size, q_heads=q_heads, kv_heads=kv_heads, head_dim=head_dim)
    actual = mha_batch_prefill_func(**arguments)
    assert actual.dtype == torch.bfloat16
    assert_close(actual, expect(arguments, -1, 0, head_dim**-0.5))


@pytest.mark.parametrize("page_size", [1, 16, 64])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, FP8])
def test_token_view_equals_page_view(page_size: int, dtype: torch.dtype) -> None:
    by_token = make(page_size, paged=False, dtype=dtype)
    actual = mha_batch_prefill_func(**by_token)
    assert actual.dtype == (torch.bfloat16 if dtype == FP8 else dtype)
    assert_close(actual, expect(by_token, -1, 0, 256**-0.5))
    by_page = mha_batch_prefill_func(**make(page_size, dtype=dtype))
    assert torch.equal(actual, by_page), (actual - by_page).abs().max()


def test_unequal_descales() -> None:
    arguments = make()
    actual = mha_batch_prefill_func(**arguments, **descales(2.0, 0.5, 0.25))
    expected = 0.25 * expect(arguments, -1, 0, 2.0 * 0.5 * 256**-0.5)
    assert_close(actual, expected)


def test_descale_without_dimensions() -> None:
    arguments = make()
    scales = descales(1.0, 0.5, 0.25)
    expected = mha_batch_prefill_func(**arguments, **scales)
    scales["k_descale"] = torch.tensor(0.5)
    assert torch.equal(mha_batch_prefill_func(**arguments, **scales), expected)


@pytest.mark.parametrize("page_size", [1, 64])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [(-1, -1), (0, -1), (20, 5), (-1, 3)])
@pytest.mark.parametrize("soft_cap", [0.0, 5.0])
def test_window_and_soft_cap(
    page_size: int, causal: bool, window: tuple[int, int], soft_cap: float
) -> None:
    arguments = make(page_size, head_dim=128, dtype=torch.float16)
    actual = mha_batch_prefill_func(
        **arguments | {"causal": causal},
        window_size=window,
        logits_soft_cap=soft_cap,
        softmax_scale=0.3,
    )
    right = 0 if causal else window[1]
    assert_close(actual, expect(arguments, window[0], right, 0.3, soft_cap=soft_cap))


def test_window_counts_the_query_itself_and_left_more() -> None:
    inputs = make_paged_inputs(0, Shape([1], [40], dtype=torch.bfloat16), 1)
    arguments = inputs.prefill_arguments(paged=False)
    # (8, -1) is 9 keys: the same as the last 9 keys without a window.
    windowed = mha_batch_prefill_func(**arguments, window_size=(8, -1))
    arguments["kv_page_indices"] = inputs.slots[31:]
    arguments["kv_indptr"] = torch.tensor([0, 9], dtype=torch.int32)
    assert torch.equal(windowed, mha_batch_prefill_func(**arguments))


def test_window_that_reaches_max_seqlen_k_is_none() -> None:
    arguments = make() | {"max_seqlen_k": 100}
    actual = mha_batch_prefill_func(**arguments, window_size=(100, -1))
    assert_close(actual, expect(arguments, -1, 0, 256**-0.5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sinks_take_weight_and_give_no_value(dtype: torch.dtype) -> None:
    arguments = make(dtype=torch.bfloat16)
    sinks = torch.tensor([-2.0, 0.0, 1.5, 40.0], dtype=dtype)
    actual = mha_batch_prefill_func(**arguments, sink_ptr=sinks, window_size=(6, -1))
    expected = expect(arguments, 6, 0, 256**-0.5, sinks=sinks.tolist())
    assert_close(actual, expected)


def test_out_is_written_for_the_tokens_of_rows_only() -> None:
    arguments = make(dtype=torch.float16)
    tokens = len(arguments["q"])
    arguments["q"] = torch.cat([arguments["q"], arguments["q"][:2]])
    out = torch.full_like(arguments["q"], 7.0)
    assert mha_batch_prefill_func(**arguments, out=out) is out
    assert_close(out[:tokens], expect(arguments, -1, 0, 256**-0.5))
    assert bool((out[tokens:] == 7.0).all()), out[tokens:]


def test_keys_outside_every_window_are_not_read() -> None:
    inputs = make_paged_inputs(0, Shape([3], [50], dtype=torch.bfloat16), 1)
    arguments = inputs.prefill_arguments(paged=False)
    window: dict[str, Any] = {"window_size": (10, -1)}
    expected = mha_batch_prefill_func(**arguments, **window)
    # Queries are at 47, 48, 49: 37 is the first key that one of them sees.
    arguments["kv_page_indices"][:37] = -1
    assert torch.equal(mha_batch_prefill_func(**arguments, **window), expected)


def test_nan_key_reaches_only_queries_that_see_it() -> None:
    inputs = make_paged_inputs(0, Shape([6], [20], dtype=torch.bfloat16), 1)
    arguments = inputs.prefill_arguments(paged=False)
    expected = mha_batch_prefill_func(**arguments)
    # Queries are at 14 to 19: key 17 is seen by the last three.
    slot = int(inputs.slots[17])
    for pool in (inputs.k_pool, inputs.v_pool):
        saved = pool[slot].clone()
        pool[slot] = torch.nan
        actual = mha_batch_prefill_func(**arguments)
        pool[slot] = saved
        assert torch.equal(actual[:3], expected[:3])
        assert bool(actual[3:].isnan().all()), actual[3:]


def test_strided_pool_and_queries() -> None:
    arguments = make(dtype=torch.bfloat16)
    expected = mha_batch_prefill_func(**arguments)
    for name in ("q", "k", "v"):
        tensor = arguments[name]
        wide = torch.cat([tensor, torch.full_like(tensor, torch.nan)], dim=-1)
        arguments[name] = wide[..., : tensor.shape[-1]]
    assert torch.equal(mha_batch_prefill_func(**arguments), expected)
