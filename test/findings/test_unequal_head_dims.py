"""K and V of unequal head dims in the fused write of window models."""

from __future__ import annotations

import pytest
import torch
from sglang.kernels.ops.kvcache.cache_ops import launch_reshape_and_cache_flash

K_DIM, HEADS, PAGES, PAGE = 192, 2, 4, 16
# Behind the last row, for what is read or written there in error.
SLACK = 1024


@pytest.mark.parametrize(
    "v_dim",
    [
        pytest.param(192, id="equal"),
        pytest.param(
            128,
            id="unequal",
            marks=pytest.mark.xfail(
                strict=True,
                raises=AssertionError,
                reason="upstream: none known; V is written with K's head dim",
            ),
        ),
    ],
)
def test_write_puts_v_into_its_own_rows(v_dim: int) -> None:
    generator = torch.Generator().manual_seed(0)
    slots = torch.tensor([17, 40, 33])
    key = torch.randn(len(slots), HEADS, K_DIM, generator=generator)
    k_cache = torch.zeros(PAGES, PAGE, HEADS, K_DIM)
    size = len(slots) * HEADS * v_dim
    value = torch.randn(size + SLACK, generator=generator)[:size]
    value = value.view(len(slots), HEADS, v_dim)
    rows = PAGES * PAGE
    cells = torch.zeros(rows * HEADS * v_dim + SLACK)[: rows * HEADS * v_dim]
    v_cache = cells.view(PAGES, PAGE, HEADS, v_dim)
    launch_reshape_and_cache_flash(key, value, k_cache, v_cache, slots)
    want = torch.zeros(rows, HEADS, v_dim)
    want[slots] = value
    assert torch.equal(k_cache.view(rows, HEADS, K_DIM)[slots], key)
    assert torch.equal(v_cache.view(rows, HEADS, v_dim), want)
