"""The kernel compiled for AMD's GPUs, on a machine that has none."""

from __future__ import annotations

import re
from collections import Counter
from types import ModuleType
from typing import Any

import pytest

from kv_gather.gather_cases import load_gather

triton: Any = pytest.importorskip("triton", reason="compiling needs triton")

ROWS = (256, 512, 1024, 2048)
ARCHITECTURES = ("gfx950", "gfx942")
# A CU of gfx942 and gfx950 holds 512 VGPRs per lane of a SIMD: 64 leave eight waves.
VGPR_LIMIT = 64
# Both launch classes: bytes of K plus V.
TOTALS = (2**20, 2**24)


def _load_compiled() -> ModuleType:
    """The module with kernels to compile, although the suite has them interpreted."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = False
        return load_gather()


def _compile(module: ModuleType, arch: str, row_bytes: int, total: int) -> Any:
    words = row_bytes // 8
    tokens, threads = module._launch_shape(total, row_bytes)
    constants = {
        "WORD": triton.language.int64,
        "ALIGNED": 16,
        "K_STRIDE": words,
        "V_STRIDE": words,
        "K_WORDS": words,
        "V_WORDS": words,
        "BLOCK_TOKENS": tokens,
        "BLOCK_K": words,
        "BLOCK_V": words,
    }
    signature = dict.fromkeys(("k_cache", "v_cache", "k_out", "v_out"), "*fp8e4nv")
    signature |= {"tok_idx": "*i32", "total_k": "i32"}
    signature |= dict.fromkeys(constants, "constexpr")
    kernel = module._gather_kv_kernel
    source = triton.compiler.ASTSource(
        kernel, {name: signature[name] for name in kernel.arg_names}, constants
    )
    target = triton.backends.compiler.GPUTarget("hip", arch, 64)
    return triton.compile(source, target, options={"num_warps": threads // 64})


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("row_bytes", ROWS)
@pytest.mark.parametrize("total", TOTALS)
def test_rows_move_sixteen_bytes_at_a_time(
    arch: str, row_bytes: int, total: int
) -> None:
    compiled = _compile(_load_compiled(), arch, row_bytes, total)
    assembly = compiled.asm["amdgcn"]
    memory = Counter(
        re.findall(r"^\s+((?:global|flat|buffer|scratch|ds)_\S+)", assembly, re.M)
    )
    indices = memory.pop("global_load_dword", 0)
    # A buffer store adds a 32-bit offset within the row to a 64-bit base.
    wide = {"global_load_dwordx4", "global_store_dwordx4", "buffer_store_dwordx4"}
    assert set(memory) <= wide, memory
    loads = memory.pop("global_load_dwordx4")
    assert loads == memory.total(), (loads, memory)
    # A vector of K and one of V for each row that a thread works on, with its index.
    assert indices <= loads // 2, (indices, loads)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("row_bytes", ROWS)
@pytest.mark.parametrize("total", TOTALS)
def test_registers_stay_within_bounds(arch: str, row_bytes: int, total: int) -> None:
    compiled = _compile(_load_compiled(), arch, row_bytes, total)
    found = {
        name: int(value)
        for name, value in re.findall(
            r"\.(\w+):\s+(\d+)$", compiled.asm["amdgcn"], re.M
        )
    }
    assert found["vgpr_count"] <= VGPR_LIMIT, found
    unused = (
        "vgpr_spill_count",
        "sgpr_spill_count",
        "private_segment_fixed_size",
        "group_segment_fixed_size",
    )
    assert not any(found[name] for name in unused), found


def test_slots_are_widened_before_they_are_multiplied() -> None:
    ir = _compile(_load_compiled(), "gfx950", 512, 2**20).asm["ttir"]
    index = re.search(r"(%\w+) = tt\.load .*xi32|(%\w+) = tt\.load .*ptr<i32>", ir)
    assert index, ir
    name = index[1] or index[2]
    uses = re.findall(rf"^.*{name}\b(?! =).*$", ir, re.M)
    assert uses and all("arith.extsi" in use for use in uses), uses
    narrow = re.findall(r"^.*arith\.muli .*i32.*$", ir, re.M)
    assert not narrow, narrow
