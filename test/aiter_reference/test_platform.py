"""The platform is off unless named, and its patches do what they stand in for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from page_size_eval.serving.hardware import CPU

pytest.importorskip("sglang", reason="the platform is one of SGLang's")

# SGLang's own kernel under Triton's interpreter against the patch, with what makes a
# difference: scales apart from 1 and from each other, page 16, shuffled slots, a
# negative one, and values beyond fp8's range.
KV_WRITE = """
import torch
from sglang.kernels.ops.kvcache.cache_ops import launch_reshape_and_cache_flash as real
from aiter_reference.patches.kv_write import launch_reshape_and_cache_flash as ours
g = torch.Generator().manual_seed(3)
key, value = (torch.randn(9, 3, 64, generator=g) for _ in range(2))
slots = torch.randperm(64, generator=g)[:9]
slots[4] = -1
for scales in ({}, {"k_scale": torch.tensor([0.5]), "v_scale": torch.tensor([0.25])}):
    pools = [[torch.full((4, 16, 3, 64), 7.0) for _ in range(2)] for _ in range(2)]
    for write, pool in zip((real, ours), pools):
        write(key, value, *pool, slots, **scales)
    for which in range(2):
        assert torch.equal(pools[0][which], pools[1][which]), (scales, which)
pool = torch.zeros(4, 16, 3, 64).to(torch.float8_e4m3fn)
ours(key * 1e6, value * 1e6, pool, pool.clone(), slots)
assert pool.float().abs().max() == 448 and not pool.float().isnan().any()
"""

FP8_QUANT = """
import torch
from sglang.srt.layers.attention import aiter_backend
x = torch.tensor([[1.0, -3.3, 1e6, -1e6]])
q, scale = aiter_backend.scaled_fp8_quant(x, torch.tensor([0.5]))
assert q.float().tolist() == [[2.0, -6.5, 448.0, -448.0]], q.float().tolist()
assert aiter_backend.is_gfx95_supported()
import sglang.srt.utils
assert not sglang.srt.utils.is_gfx95_supported(), "patched beyond aiter_backend"
"""

# An index producer still copies every entry, and a launch lists no language again.
INTERPRETER = """
import inspect
from sglang.kernels.ops.attention.kv_indices import create_flashinfer_kv_indices_triton
table = torch.arange(2 * 700, dtype=torch.int32).view(2, 700)
lens = torch.tensor([620, 3])
kv_indptr = torch.tensor([0, 620, 623], dtype=torch.int32)
def launch():
    out = torch.full((623,), -1, dtype=torch.int32)
    create_flashinfer_kv_indices_triton[(2,)](
        table, torch.tensor([1, 0]), lens, kv_indptr, None, out, table.stride(0)
    )
    return out
launch()
real, listed = inspect.getmembers, []
inspect.getmembers = lambda *args: listed.append(args[0]) or real(*args)
out = launch()
inspect.getmembers = real
assert out.tolist() == [*range(700, 1320), 0, 1, 2], out
assert not listed, listed
"""

KERNELS = """
import aiter
assert aiter.__reference__
for name in (
    "flash_attn_varlen_fp8_pertensor_func",
    "mha_batch_prefill_func",
    "paged_attention_ragged",
):
    assert getattr(aiter_backend, name).__module__.startswith("aiter_reference"), name
print("done")
"""

# As a worker does: this import initialises the platform.
WORKER = "import sglang.srt.model_executor.model_runner\n"


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in CPU.environment}
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**clean, **environment},
    )


def test_off_unless_named() -> None:
    done = run("from aiter_reference.platform import activate; print(activate())")
    assert done.stdout.strip() == "None", done.stderr


def test_named_without_the_interpreter_says_what_to_set() -> None:
    done = run("import sglang", SGLANG_PLATFORM="gfx950_reference")
    assert done.returncode != 0
    assert "expected TRITON_INTERPRET=1" in done.stderr


def test_worker_gets_patches_that_match_what_they_replace_and_the_kernels() -> None:
    done = run(WORKER + KV_WRITE + FP8_QUANT + INTERPRETER + KERNELS, **CPU.environment)
    assert (done.returncode, done.stdout.strip()[-4:]) == (0, "done"), done.stderr
