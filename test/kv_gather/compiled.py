"""The gather compiled for AMD's GPUs, as JSON on stdout.

A process of its own: where the suite has Triton interpreted, nothing compiles any more.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from types import ModuleType
from typing import Any

import triton

from kv_gather.gather_cases import load_gather

ROWS = (256, 512, 1024, 2048)
ARCHITECTURES = ("gfx950", "gfx942")
# Both launch classes: bytes of K plus V.
TOTALS = (2**20, 2**24)
Case = tuple[str, int, int]
CASES: tuple[Case, ...] = tuple(product(ARCHITECTURES, ROWS, TOTALS))


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


def main() -> None:
    module = load_gather()
    compiled = [_compile(module, *case).asm for case in CASES]
    kinds = ("amdgcn", "ttir")
    json.dump([{kind: asm[kind] for kind in kinds} for asm in compiled], sys.stdout)


if __name__ == "__main__":
    main()
