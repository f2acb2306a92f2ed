"""Arguments that aiter refuses or would misread in silence raise, saying where."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from aiter_reference import (
    flash_attn_varlen_fp8_pertensor_func,
    mha_batch_prefill_func,
    paged_attention_ragged,
)
from aiter_reference.inputs import Shape, make_paged_inputs, make_varlen_inputs

FP8 = torch.float8_e4m3fn
ONE = torch.ones(1)


def int32(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def prefill_arguments(paged: bool = True, **shape: Any) -> dict[str, Any]:
    inputs = make_paged_inputs(0, Shape([3, 2], [20, 17], **shape), 16)
    return inputs.prefill_arguments(paged)


def decode_arguments() -> dict[str, Any]:
    batch = Shape([1, 1], [20, 17], dtype=torch.bfloat16)
    return make_paged_inputs(0, batch, 16).decode_arguments(paged=True)


def varlen_arguments() -> dict[str, Any]:
    return make_varlen_inputs(0, Shape([3, 2], [20, 17]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": torch.zeros(5, 4, 256)}, "q must be of .*bfloat16.*, got .*float32"),
        ({"k": torch.zeros(9, 16, 2, 256)}, "k must be of .*e4m3fn, got .*float32"),
        ({"v": torch.zeros(9, 16, 1, 256).to(FP8)}, r"v must be .*\(12, 16, 2\)"),
        ({"q": torch.zeros(5, 3, 256).to(FP8)}, "multiple of 2 heads"),
        ({"q": torch.zeros(5, 4, 128).to(FP8)}, "k must be of head dim 128, as q"),
        ({"cu_seqlens_q": int32(0, 3, 6)}, r"within \[0, 5\], got 0 to 6"),
        ({"cu_seqlens_q": int32(1, 3, 5)}, "cu_seqlens_q must be 0 at first"),
        ({"cu_seqlens_q": int32(0, 3, 2)}, "non-decreasing, got 3 then 2 at row 1"),
        ({"cu_seqlens_q": torch.tensor([0, 3, 5])}, "cu_seqlens_q .* got .*int64"),
        ({"max_seqlen_q": 2}, "max_seqlen_q must be at least 3"),
        ({"kv_indptr": int32(0, 2)}, r"kv_indptr must be of shape \(3,\)"),
        ({"kv_indptr": int32(0, 2, 99)}, "kv_indptr must be within"),
        ({"kv_indptr": torch.tensor([0, 2, 4])}, "kv_indptr .* got .*int64"),
        ({"kv_page_indices": torch.arange(8)}, "kv_page_indices .* got .*int64"),
        ({"kv_page_indices": int32(*range(16))[::2]}, "1-D and contiguous"),
        ({"kv_last_page_lens": None}, "given at page size 16"),
        ({"kv_last_page_lens": int32(4, 17)}, r"in \[1, 16\], got \[4, 17\]"),
        ({"kv_last_page_lens": torch.tensor([4, 1])}, "lens .* got .*int64"),
        ({"k_descale": ONE, "v_descale": ONE}, "all given or none, got 2 of 3"),
        ({"sink_ptr": torch.ones(2)}, r"sink_ptr must be of shape \(4,\)"),
        ({"out": torch.zeros(5, 4, 256)}, "out must be of torch.bfloat16"),
    ],
)
def test_batch_prefill_refuses(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mha_batch_prefill_func(**prefill_arguments() | change)


def test_batch_prefill_refuses_descales_of_half_inputs() -> None:
    scales: dict[str, Any] = {
        name: ONE for name in ("q_descale", "k_descale", "v_descale")
    }
    with pytest.raises(ValueError, match="q must be fp8 when descales are given"):
        mha_batch_prefill_func(**prefill_arguments(dtype=torch.bfloat16), **scales)


def test_batch_prefill_refuses_a_value_dim_of_its_own_by_token() -> None:
    arguments = prefill_arguments(paged=False)
    arguments["v"] = arguments["v"][..., :128]
    with pytest.raises(ValueError, match="v must be of shape"):
        mha_batch_prefill_func(**arguments)


@pytest.mark.parametrize("entry", [-1, 12, 2**31 - 1])
def test_batch_prefill_names_an_entry_outside_the_pool(entry: int) -> None:
    arguments = prefill_arguments()
    # Two pages per row: entry 3 is at position 1 of row 1.
    arguments["kv_page_indices"][3] = entry
    bound = re.escape("must be in [0, 12), the 12 pages of 16 tokens")
    with pytest.raises(
        IndexError, match=f"{bound}.* got {entry} at position 1 of row 1"
    ):
        mha_batch_prefill_func(**arguments)


def test_batch_prefill_names_a_slot_outside_the_pool() -> None:
    arguments = prefill_arguments(paged=False)
    arguments["kv_page_indices"][20 + 9] = -1
    with pytest.raises(IndexError, match="got -1 at position 9 of row 1"):
        mha_batch_prefill_func(**arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": torch.zeros(2, 4, 256)}, "query must be of .*, got .*float32"),
        ({"kv_cache_dtype": "fp8_e5m2"}, "one of auto, fp8, fp8_e4m3, got fp8_e5m2"),
        ({"kv_cache_dtype": "fp8"}, "key_cache must be of .*fp?.*, got .*bfloat16"),
        ({"block_size": 1}, "block_size must be the 16 of key_cache"),
        ({"kv_page_indices": torch.arange(8)}, "kv_page_indices .* got .*int64"),
        ({"kv_indptr": torch.tensor([0, 2, 4])}, "kv_indptr .* got .*int64"),
        ({"kv_indptr": int32(0, 2)}, "kv_indptr must be 1-D with at least 3"),
        ({"kv_last_page_lens": int32(4)}, "1-D with at least 2 entries"),
        ({"out": torch.zeros(2, 4, 128).bfloat16()}, r"out must be of shape"),
    ],
)
def test_ragged_decode_refuses(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paged_attention_ragged(**decode_arguments() | change)


def test_ragged_decode_refuses_a_page_beyond_its_largest() -> None:
    batch = Shape([1], [20], dtype=torch.bfloat16)
    arguments = make_paged_inputs(0, batch, 64).decode_arguments(paged=True)
    with pytest.raises(ValueError, match=r"in \[1, 32\], got 64"):
        paged_attention_ragged(**arguments)


def test_ragged_decode_names_an_entry_outside_the_pool() -> None:
    arguments = decode_arguments()
    arguments["kv_page_indices"][2] = -1
    with pytest.raises(IndexError, match="got -1 at position 0 of row 1"):
        paged_attention_ragged(**arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": torch.zeros(5, 4, 256).bfloat16()}, "q must be of .*e4m3fn"),
        ({"k": torch.zeros(44, 2, 256)}, "k must be of .*e4m3fn, got .*float32"),
        ({"k": torch.zeros(2, 22, 2, 256).to(FP8)}, r"k must be \[tokens, heads"),
        ({"cu_seqlens_k": torch.tensor([0, 20, 37])}, "cu_seqlens_k .* got .*int64"),
        ({"cu_seqlens_k": int32(0, 20, 50)}, r"within \[0, 44\]"),
        ({"cu_seqlens_k": int32(0, 20)}, r"cu_seqlens_k must be of shape \(3,\)"),
        ({"cu_seqlens_q": int32(0)}, "cu_seqlens_q must be of at least 2 entries"),
        ({"k_descale": torch.ones(2, 2)}, r"k_descale must be of shape \(1,\)"),
        ({"q_descale": ONE.double()}, "q_descale must be of torch.float32"),
    ],
)
def test_varlen_refuses(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flash_attn_varlen_fp8_pertensor_func(**varlen_arguments() | change)
