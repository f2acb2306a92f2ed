"""What `gather_kv` refuses, and that it says why."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from benchmark.kv_gather.modules import GATHER_FILE
from kv_gather.gather_cases import FP8, load_gather, make_cache, make_indices

CACHE = make_cache((2, 256), FP8)
INDICES = make_indices(4, torch.int32)


@pytest.mark.parametrize(
    ("cache", "reason"),
    [
        (CACHE.transpose(1, 2), "only dim 0 may be strided"),
        (CACHE[:, :, ::2], "only dim 0 may be strided"),
        (CACHE[:, :, :128], "only dim 0 may be strided"),
        (CACHE.flatten(1), r"expected \[slots, heads, dim\]"),
        (CACHE.float(), "one- or two-byte dtype"),
    ],
)
def test_a_cache_that_does_not_fit_is_refused(cache: torch.Tensor, reason: str) -> None:
    gather_kv = load_gather().gather_kv
    with pytest.raises(ValueError, match=f"k_cache: .*{reason}"):
        gather_kv(cache, CACHE, INDICES)
    with pytest.raises(ValueError, match=f"v_cache: .*{reason}"):
        gather_kv(CACHE, cache, INDICES)


@pytest.mark.parametrize(
    "tok_idx", [INDICES.float(), INDICES[None], INDICES[::2]], ids=str
)
def test_indices_that_do_not_fit_are_refused(tok_idx: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="tok_idx: expected"):
        load_gather().gather_kv(CACHE, CACHE, tok_idx)


@pytest.mark.parametrize(
    "buffer",
    [
        torch.empty(3, 2, 256, dtype=FP8),
        torch.empty(4, 2, 256, dtype=torch.uint8),
        torch.empty(4, 256, 2, dtype=FP8).transpose(1, 2),
    ],
    ids=["rows", "dtype", "stride"],
)
def test_buffers_that_do_not_fit_are_refused(buffer: torch.Tensor) -> None:
    fitting = torch.empty(4, 2, 256, dtype=FP8)
    with pytest.raises(ValueError, match="out: expected .* for v"):
        load_gather().gather_kv(CACHE, CACHE, INDICES, (fitting, buffer))


def test_module_gathers_without_triton() -> None:
    code = f"""
import sys, runpy
sys.modules["triton"] = None
module = runpy.run_path({str(GATHER_FILE)!r})
import torch
cache = torch.arange(64, dtype=torch.uint8).view(8, 2, 4)
k, v = module["gather_kv"](cache, cache, torch.tensor([7, 0]))
assert torch.equal(k, cache[[7, 0]]) and torch.equal(v, k)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
