"""unified_attention against the float64 loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from aiter_reference import unified_attention
from aiter_reference.inputs import PagedInputs, Shape, make_paged_inputs
from aiter_reference.table_inputs import unified_arguments

from .oracle import Array, assert_close, attend_row, to_array

FP8, BF16 = torch.float8_e4m3fn, torch.bfloat16
# A prefix, no queries, no prefix, one query, exactly two pages of 16.
Q_LENS = (5, 0, 13, 1, 3)
K_LENS = (41, 9, 13, 30, 32)
HEADS = [(2, 2), (4, 2), (4, 1), (16, 1)]


def expect(inputs: PagedInputs, left: int = -1, **scoring: Any) -> Array:
    """[tokens, Hq, D], from the slots of the tokens; the oracle knows no page table."""
    shape, rows, first = inputs.shape, [], 0
    k_scale, v_scale = scoring.pop("k_scale", 1.0), scoring.pop("v_scale", 1.0)
    slots = torch.split(inputs.slots[: sum(shape.k_lens)], list(shape.k_lens))
    for row, (q_len, k_len) in enumerate(zip(shape.q_lens, shape.k_lens, strict=True)):
        assert len(slots[row]) == k_len
        q = to_array(inputs.q[first : first + q_len])
        k, v = (
            to_array(pool)[slots[row].numpy()] * scale
            for pool, scale in ((inputs.k_pool, k_scale), (inputs.v_pool, v_scale))
        )
        rows.append(attend_row(q, k, v, left, 0, **scoring))
        first += q_len
    return np.concatenate(rows)


def make(page_size: int = 16, cache: torch.dtype = BF16, **shape: Any) -> PagedInputs:
    batch: dict[str, Any] = {"q_lens": Q_LENS, "k_lens": K_LENS, "dtype": BF16} | shape
    return make_paged_inputs(0, Shape(**batch), page_size, cache)


@pytest.mark.parametrize("page_size", [1, 2, 16, 64])
@pytest.mark.parametrize(("q_heads", "kv_heads"), HEADS)
def test_matches_oracle(q_heads: int, kv_heads: int, page_size: int) -> None:
    inputs = make(page_size, q_heads=q_heads, kv_heads=kv_heads, head_dim=128)
    arguments = unified_arguments(inputs)
    out = unified_attention(**arguments)
    assert out is arguments["out"]
    assert_close(out, expect(inputs, scale=128**-0.5))


@pytest.mark.parametrize("head_dim", [64, 256, 512])
@pytest.mark.parametrize(("q_dtype", "cache"), [(BF16, FP8), (FP8, FP8)])
def test_fp8_cache_with_scales(
    head_dim: int, q_dtype: torch.dtype, cache: torch.dtype
) -> None:
    inputs = make(cache=cache, dtype=q_dtype, head_dim=head_dim)
    arguments = unified_arguments(inputs) | {
        "q_descale": torch.tensor([2.0]),
        "k_descale": torch.tensor(0.5),
        "v_descale": torch.tensor([0.25]),
    }
    expected = expect(inputs, scale=2.0 * head_dim**-0.5, k_scale=0.5, v_scale=0.25)
    assert_close(unified_attention(**arguments), expected)


@pytest.mark.parametrize("window", [0, 1, 7, 40])
@pytest.mark.parametrize("soft_cap", [0.0, 5.0])
def test_window_is_the_keys_before_ones_own(window: int, soft_cap: float) -> None:
    inputs = make(head_dim=128)
    arguments = unified_arguments(inputs) | {
        "window_size": (window, 0),
        "softcap": soft_cap,
        "softmax_scale": 0.3,
    }
    expected = expect(inputs, window, scale=0.3, soft_cap=soft_cap)
    assert_close(unified_attention(**arguments), expected)


def test_pages_before_the_window_may_be_gone() -> None:
    inputs = make(q_lens=[2, 1], k_lens=[70, 33], head_dim=128)
    arguments = unified_arguments(inputs) | {"window_size": (15, 0)}
    # Keys 53 and 17 are the first that are seen.
    arguments["block_table"][0, :3] = -1
    arguments["block_table"][1, 0] = -1
    expected = expect(inputs, 15, scale=128**-0.5)
    assert_close(unified_attention(**arguments), expected)


def test_sinks_take_weight_and_give_no_value() -> None:
    inputs = make()
    sinks = torch.tensor([-2.0, 0.0, 1.5, 40.0])
    actual = unified_attention(**unified_arguments(inputs), sinks=sinks)
    assert_close(actual, expect(inputs, scale=256**-0.5, sinks=sinks.tolist()))


def test_decode_takes_one_query_per_row_whatever_the_offsets() -> None:
    inputs = make(q_lens=[1, 1, 1], k_lens=[70, 1, 33])
    arguments = unified_arguments(inputs)
    arguments["cu_seqlens_q"] = torch.tensor([0, 3], dtype=torch.int32)
    assert_close(unified_attention(**arguments), expect(inputs, scale=256**-0.5))


def test_rows_are_the_entries_of_seqused_k() -> None:
    inputs = make(q_lens=[1, 1, 1], k_lens=[70, 1, 33])
    arguments = unified_arguments(inputs)
    arguments["seqused_k"] = arguments["seqused_k"][:2].to(torch.int32)
    out = unified_attention(**arguments)
    assert_close(out[:2], expect(inputs, scale=256**-0.5)[:2])
    assert out[2].isnan().all(), out[2]


def test_queries_without_keys_are_zero() -> None:
    inputs = make(q_lens=[4, 1], k_lens=[2, 0])
    assert_close(
        unified_attention(**unified_arguments(inputs)),
        expect(inputs, scale=256**-0.5),
    )


def one_row(**change: Any) -> dict[str, Any]:
    inputs = make(q_lens=[2], k_lens=[20])
    return unified_arguments(inputs) | change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"causal": False}, "causal must be True"),
        ({"seqused_k": torch.tensor([65])}, "block_table .*at least 5 pages .*65 keys"),
        ({"seqused_k": torch.tensor([20.0])}, "seqused_k must be of .*int32 or"),
        ({"seqused_k": torch.tensor([20, 20, 20])}, r"cu_seqlens_q .*at least 4"),
        ({"block_table": torch.zeros(1, 4).long()}, "block_table must be of .*int32"),
        ({"block_table": torch.zeros(8).int()}, r"block_table must be \[at least 1"),
        ({"cu_seqlens_q": torch.tensor([0, 3]).int()}, r"within \[0, 2\]"),
        ({"k_descale": torch.ones(1)}, "k_descale, v_descale must be both given"),
        ({"q_descale": torch.ones(2)}, "q_descale must be of one element"),
        ({"k": torch.zeros(9, 16, 2, 128).bfloat16()}, "v must be of shape"),
        ({"out": torch.zeros(2, 4, 256)}, "out must be of torch.bfloat16"),
        (
            {"max_seqlen_q": 1, "seqused_k": torch.ones(3).int()},
            "q must be of at least",
        ),
    ],
)
def test_refuses(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unified_attention(**one_row(**change))


def test_names_a_page_outside_the_pool() -> None:
    arguments = one_row()
    arguments["block_table"][0, 1] = -1
    with pytest.raises(IndexError, match="got -1 at position 1 of row 0"):
        unified_attention(**arguments)
