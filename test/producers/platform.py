"""SGLang's AMD backend in this process, on the reference platform."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

from page_size_eval.serving.hardware import CPU

_SETTLED_AT_START = ("SGLANG_PLATFORM", "TRITON_INTERPRET")


def load_aiter_backend() -> ModuleType:
    """The module `aiter_backend`, with the reference aiter and its patches in place.

    Raises:
        RuntimeError: Triton was to be interpreted and is not, or the module was
            imported before aiter was there; both are settled by the first import.
    """
    wanted = {name: CPU.environment[name] for name in _SETTLED_AT_START}
    found = {name: os.environ.get(name) for name in wanted}
    settings = " ".join(f"{name}={value}" for name, value in wanted.items())
    if found != wanted:
        raise RuntimeError(
            f"the reference platform: expected {wanted} in the environment, got {found}"
            f" in this process. Next: {settings} .venv/bin/python -m pytest"
        )
    from sglang.srt.platforms import current_platform

    current_platform.init_backend()
    module = importlib.import_module("sglang.srt.layers.attention.aiter_backend")
    if not hasattr(module, "unified_attention_3d_mtp_func"):
        raise RuntimeError(
            "aiter_backend: expected its import to find the reference aiter, but it was"
            " imported before the platform installed it, and has none of aiter's names."
            " Next: aiter_reference.install() before the first import of SGLang"
        )
    return module
