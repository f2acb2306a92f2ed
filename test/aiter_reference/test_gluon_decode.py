"""pa_decode_gluon against the float64 loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from aiter_reference import pa_decode_gluon
from aiter_reference.gluon_decode import get_recommended_splits
from aiter_reference.inputs import PagedInputs, Shape, make_paged_inputs
from aiter_reference.table_inputs import gluon_arguments

from .oracle import Array, assert_close, attend_row, to_array

FP8, BF16 = torch.float8_e4m3fn, torch.bfloat16
K_LENS = (70, 1, 16, 33, 64, 0)


def make(page_size: int = 16, cache: torch.dtype = FP8, **shape: Any) -> PagedInputs:
    batch = Shape([1] * len(K_LENS), K_LENS, dtype=BF16, **shape)
    return make_paged_inputs(0, batch, page_size, cache)


def expect(inputs: PagedInputs, keys: int | None = None, **scoring: Any) -> Array:
    """[rows, Hq, D]; `keys`: how many of the newest are seen, None for all."""
    k_scale, v_scale = scoring.pop("k_scale", 1.0), scoring.pop("v_scale", 1.0)
    slots = torch.split(inputs.slots[: sum(K_LENS)], list(K_LENS))
    rows = []
    for row in range(len(K_LENS)):
        at = slots[row].numpy()
        if keys is not None:
            at = at[max(0, len(at) - keys) :]
        k, v = (
            to_array(pool)[at] * scale
            for pool, scale in ((inputs.k_pool, k_scale), (inputs.v_pool, v_scale))
        )
        rows.append(
            attend_row(to_array(inputs.q[row : row + 1]), k, v, -1, 0, **scoring)
        )
    return np.concatenate(rows)


def run(inputs: PagedInputs, **change: Any) -> torch.Tensor:
    arguments = gluon_arguments(inputs) | change
    pa_decode_gluon(**arguments)
    output: torch.Tensor = arguments["output"]
    return output


@pytest.mark.parametrize("page_size", [16, 64])
@pytest.mark.parametrize("cache", [FP8, BF16])
@pytest.mark.parametrize("head_dim", [128, 256])
@pytest.mark.parametrize(("q_heads", "kv_heads"), [(2, 2), (4, 2), (8, 1)])
def test_matches_oracle(
    page_size: int, cache: torch.dtype, head_dim: int, q_heads: int, kv_heads: int
) -> None:
    inputs = make(
        page_size, cache, head_dim=head_dim, q_heads=q_heads, kv_heads=kv_heads
    )
    assert_close(run(inputs), expect(inputs, scale=head_dim**-0.5))


def test_scales_of_an_fp8_cache() -> None:
    inputs = make()
    output = run(inputs, key_scale=torch.tensor([0.5]), value_scale=torch.tensor([4.0]))
    assert_close(output, expect(inputs, scale=256**-0.5, k_scale=0.5, v_scale=4.0))


def test_scales_of_another_cache_have_no_effect() -> None:
    inputs = make(cache=BF16)
    output = run(inputs, key_scale=torch.tensor([0.5]), value_scale=None)
    assert torch.equal(output, run(inputs))


@pytest.mark.parametrize("window", [2, 3, 17, 128])
def test_window_sees_one_key_less_than_it_says(window: int) -> None:
    inputs = make()
    output = run(inputs, sliding_window=window)
    assert_close(output, expect(inputs, window - 1, scale=256**-0.5))


def test_sinks_take_weight_and_give_no_value() -> None:
    inputs = make()
    sinks = torch.tensor([-2.0, 0.0, 1.5, 40.0])
    expected = expect(inputs, scale=256**-0.5, sinks=sinks.tolist())
    assert_close(run(inputs, sinks=sinks), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sliding_window": 1}, "sliding_window must be 0 or more than 1"),
        ({"key_scale": torch.ones(1)}, "key_scale, value_scale must be both given"),
        ({"context_lengths": torch.tensor([70])}, r"context_lengths .*shape \(6,\)"),
        (
            {"context_lengths": torch.full((6,), 200)},
            "block_tables .*at least 13 pages",
        ),
        ({"query": torch.zeros(6, 4, 256)}, "query must be of torch.bfloat16"),
        ({"query": torch.zeros(6, 3, 256).bfloat16()}, "output must be of shape"),
        ({"key_cache": torch.zeros(9, 2, 16, 32, 16).to(FP8)}, "page_size among"),
        ({"value_cache": torch.zeros(9, 2, 1, 256, 16).to(FP8)}, "value_cache .*shape"),
    ],
)
def test_refuses(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(make(), **change)


def test_names_a_page_outside_the_pool() -> None:
    inputs = make()
    table = gluon_arguments(inputs)["block_tables"]
    table[3, 2] = 10_000
    with pytest.raises(IndexError, match="got 10000 at position 2 of row 3"):
        run(inputs, block_tables=table)


def test_splits_fill_the_device_and_are_at_most_eight() -> None:
    assert [get_recommended_splits(n, 2) for n in (1, 32, 64, 256)] == [8, 8, 4, 1]
