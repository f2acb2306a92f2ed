"""paged_attention_ragged against the float64 loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from aiter_reference import paged_attention_ragged
from aiter_reference.inputs import Shape, make_paged_inputs

from .oracle import Array, assert_close, attend_row, read_paged_row, to_array

K_LENS = (70, 1, 0, 16, 33, 64)
HEADS = [(2, 2), (4, 2), (4, 1), (8, 1), (16, 1)]
FP8 = torch.float8_e4m3fn


def expect(arguments: dict[str, Any], **scoring: Any) -> Array:
    """[rows, Hq, D] of the call with these arguments, but for the scales."""
    table = (
        arguments["kv_indptr"],
        arguments["kv_page_indices"],
        arguments["kv_last_page_lens"],
    )
    query = arguments["query"]
    if arguments["kv_cache_dtype"] != "auto":
        query = query.to(FP8)
    rows = []
    for row in range(len(query)):
        k, v = (
            read_paged_row(row, arguments[name], *table)
            for name in ("key_cache", "value_cache")
        )
        q = to_array(query[row : row + 1])
        rows.append(attend_row(q, k, v, -1, -1, **scoring))
    return np.concatenate(rows)


def make(
    page_size: int = 16,
    paged: bool = True,
    cache_dtype: torch.dtype | None = None,
    dtype: torch.dtype = torch.bfloat16,
    **shape: Any,
) -> dict[str, Any]:
    batch = Shape([1] * len(K_LENS), K_LENS, dtype=dtype, **shape)
    inputs = make_paged_inputs(0, batch, page_size, cache_dtype)
    return inputs.decode_arguments(paged)


@pytest.mark.parametrize("page_size", [1, 16, 32])
@pytest.mark.parametrize("head_dim", [128, 256])
@pytest.mark.parametrize(("q_heads", "kv_heads"), HEADS)
def test_matches_oracle_by_page(
    q_heads: int, kv_heads: int, head_dim: int, page_size: int
) -> None:
    arguments = make(page_size, q_heads=q_heads, kv_heads=kv_heads, head_dim=head_dim)
    out = paged_attention_ragged(**arguments)
    assert out is arguments["out"]
    assert_close(out, expect(arguments, scale=head_dim**-0.5))


@pytest.mark.parametrize("page_size", [1, 16, 64])
@pytest.mark.parametrize("cache_dtype", [None, FP8])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_token_view_of_any_page_size(
    page_size: int, cache_dtype: torch.dtype | None, dtype: torch.dtype
) -> None:
    arguments = make(page_size, False, cache_dtype, dtype)
    assert_close(
        paged_attention_ragged(**arguments), expect(arguments, scale=256**-0.5)
    )


def test_token_view_equals_page_view() -> None:
    by_token = paged_attention_ragged(**make(16, paged=False))
    by_page = paged_attention_ragged(**make(16, paged=True))
    assert torch.equal(by_token, by_page), (by_token - by_page).abs().max()


def test_fp8_cache_with_unequal_scales_and_soft_cap() -> None:
    arguments = make(cache_dtype=FP8) | {
        "k_scale": torch.tensor([0.5]),
        "v_scale": torch.tensor([0.25]),
        "logits_soft_cap": 3.0,
        "scale": 0.4,
    }
    expected = 0.25 * expect(arguments, scale=0.4 * 0.5, soft_cap=3.0)
    assert_close(paged_attention_ragged(**arguments), expected)


def test_scales_are_ignored_for_a_cache_in_the_dtype_of_the_query() -> None:
    scales = {"k_scale": torch.tensor([0.5]), "v_scale": torch.tensor([0.25])}
    expected = paged_attention_ragged(**make())
    assert torch.equal(paged_attention_ragged(**make() | scales), expected)


def test_full_buffers_are_read_for_the_rows_of_the_query_only() -> None:
    arguments = make()
    expected = paged_attention_ragged(**arguments)
    for name in ("kv_indptr", "kv_last_page_lens"):
        tail = torch.tensor([-5, 2**30], dtype=torch.int32)
        arguments[name] = torch.cat([arguments[name], tail])
    assert torch.equal(paged_attention_ragged(**arguments), expected)


def test_rows_without_keys_are_zero() -> None:
    batch = Shape([1, 1], [0, 0], dtype=torch.bfloat16)
    out = paged_attention_ragged(
        **make_paged_inputs(0, batch, 16).decode_arguments(paged=True)
    )
    assert not out.any(), out


def test_nan_key_reaches_its_row_only() -> None:
    batch = Shape([1] * len(K_LENS), K_LENS, dtype=torch.bfloat16)
    inputs = make_paged_inputs(0, batch, 16)
    expected = paged_attention_ragged(**inputs.decode_arguments(paged=False))
    # The only key of row 1.
    inputs.v_pool[int(inputs.slots[K_LENS[0]])] = torch.nan
    actual = paged_attention_ragged(**inputs.decode_arguments(paged=False))
    others = [row for row in range(len(K_LENS)) if row != 1]
    assert torch.equal(actual[others], expected[others])
    assert bool(actual[1].isnan().all()), actual[1]
