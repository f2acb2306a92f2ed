"""SGLang's index kernels, wherever the release keeps them."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

# Since 0.5.23, and before.
_ROOM, _EARLIER_ROOM = "sglang.kernels.ops.attention", "sglang.kernels.ops.kvcache"


def flat_kernels() -> ModuleType:
    """The module that copies rows of req_to_token into flat and padded tables."""
    return _first(f"{_ROOM}.kv_indices", f"{_EARLIER_ROOM}.kv_indices")


def page_table_kernels() -> ModuleType:
    """The module that scatters token tables into page tables."""
    return _first(
        f"{_ROOM}.aiter_unified_page_table", f"{_EARLIER_ROOM}.aiter_unified_attention"
    )


def _first(*names: str) -> ModuleType:
    """The first of the modules that there is; one that fails to import raises."""
    for name in names:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise ModuleNotFoundError(f"SGLang has none of {', '.join(names)}")
