"""What SGLang's AMD backend reaches that has no form for a CPU, one file per patch."""

from __future__ import annotations

from aiter_reference.patches.fp8_quant import patch_fp8_quant
from aiter_reference.patches.gfx95 import patch_gfx95
from aiter_reference.patches.interpreter import patch_interpreter
from aiter_reference.patches.kv_write import patch_kv_write

__all__ = ["apply_patches"]


def apply_patches() -> None:
    """Patch the namespace of SGLang's `aiter_backend` and, for its speed, Triton's
    interpreter; a second call changes nothing.

    Of SGLang only that namespace: the rest keeps seeing the machine as it is.
    """
    from sglang.srt.layers.attention import aiter_backend

    patch_gfx95(aiter_backend)
    patch_fp8_quant(aiter_backend)
    patch_kv_write(aiter_backend)
    patch_interpreter()
