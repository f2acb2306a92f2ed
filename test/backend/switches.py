"""SGLang's switches between the branches of the backend, by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from sglang.srt.mem_cache import memory_pool

_VARIABLES = {
    "unified": ("SGLANG_USE_AITER_UNIFIED_ATTN", "1"),
    "5D": ("SGLANG_AITER_KV_CACHE_LAYOUT", "vectorized_5d"),
    "no view": ("SGLANG_AITER_PAGED_PREFILL_ASM", "0"),
    "no head_dim 128": ("SGLANG_AITER_ASM_PREFILL_HD128", "0"),
    "legacy verify": ("SGLANG_AITER_UNIFIED_VERIFY", "0"),
}


@contextmanager
def switched(*names: str) -> Iterator[None]:
    """These switches and no others; SGLang reads them at several moments."""
    clean = {k: v for k, v in os.environ.items() if k not in dict(_VARIABLES.values())}
    chosen = dict(_VARIABLES[name] for name in names)
    with (
        mock.patch.dict(os.environ, clean | chosen, clear=True),
        # The pool asks for HIP before it looks at the layout.
        mock.patch.object(memory_pool, "_use_aiter", "5D" in names),
    ):
        yield
