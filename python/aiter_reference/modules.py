"""The reference as the importable package `aiter`."""

from __future__ import annotations

import importlib.util
import logging
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from aiter_reference.gluon_decode import get_recommended_splits, pa_decode_gluon
from aiter_reference.paged_decode import paged_attention_ragged
from aiter_reference.paged_prefill import mha_batch_prefill_func
from aiter_reference.triton_helpers import e4m3_dtype, make_kernel_repr
from aiter_reference.unified import unified_attention
from aiter_reference.unmodelled import UNMODELLED, make_unmodelled
from aiter_reference.varlen_prefill import flash_attn_varlen_fp8_pertensor_func

VERSION = "0+reference"

_MODELLED: dict[str, dict[str, object]] = {
    "aiter": {
        "flash_attn_varlen_fp8_pertensor_func": flash_attn_varlen_fp8_pertensor_func,
        "mha_batch_prefill_func": mha_batch_prefill_func,
        "paged_attention_ragged": paged_attention_ragged,
    },
    "aiter.ops.triton.attention.unified_attention": {
        "unified_attention": unified_attention
    },
    "aiter.ops.triton.gluon.pa_decode_gluon": {
        "get_recommended_splits": get_recommended_splits,
        "pa_decode_gluon": pa_decode_gluon,
    },
    "aiter.ops.triton.utils._triton.kernel_repr": {
        "make_kernel_repr": make_kernel_repr
    },
    "aiter.ops.triton.utils.types": {"e4m3_dtype": e4m3_dtype},
}

logger = logging.getLogger(__name__)


def install() -> None:
    """Make `import aiter` give the reference, in this process; once is enough.

    An aiter that is installed but not imported yet is shadowed, with a warning.

    Raises:
        RuntimeError: another aiter is already imported.
    """
    if _installed():
        return
    imported = sorted(name for name in sys.modules if _is_aiter(name))
    if imported:
        module = sys.modules[imported[0]]
        raise RuntimeError(
            f"aiter is already imported from {getattr(module, '__file__', None)}, and"
            " the reference would replace it halfway: start the process with"
            " SGLANG_PLATFORM=gfx950_reference set before anything imports aiter, or"
            " leave it unset to run the real kernels"
        )
    real = importlib.util.find_spec("aiter")
    if real is not None:
        logger.warning(
            "aiter_reference: the aiter installed at %s is shadowed by the reference in"
            " this process",
            real.origin or list(real.submodule_search_locations or []),
        )
    for name, module in _build_modules().items():
        sys.modules[name] = module


def uninstall() -> None:
    """Take the reference out of sys.modules; without effect if it is not there."""
    if _installed():
        for name in [name for name in sys.modules if _is_aiter(name)]:
            del sys.modules[name]


def _installed() -> bool:
    return getattr(sys.modules.get("aiter"), "__reference__", False) is True


def _is_aiter(name: str) -> bool:
    return name == "aiter" or name.startswith("aiter.")


def _build_modules() -> dict[str, ModuleType]:
    """Every module of the reference and its parents, by full name."""
    contents: dict[str, dict[str, object]] = {
        module: {name: make_unmodelled(module, name) for name in names}
        for module, names in UNMODELLED.items()
    }
    for module, modelled in _MODELLED.items():
        contents.setdefault(module, {}).update(modelled)
    modules: dict[str, ModuleType] = {}
    for full_name in sorted(contents):
        parts = full_name.split(".")
        for depth in range(1, len(parts) + 1):
            _add_module(modules, ".".join(parts[:depth]))
        vars(modules[full_name]).update(contents[full_name])
    vars(modules["aiter"]).update(__reference__=True, __version__=VERSION)
    return modules


def _add_module(modules: dict[str, ModuleType], name: str) -> None:
    if name in modules:
        return
    module = ModuleType(name, "Reference implementation in plain PyTorch.")
    # A package without a place on disk: a submodule that is not here is a
    # ModuleNotFoundError, which SGLang's guarded imports expect.
    module.__spec__ = ModuleSpec(name, loader=None, is_package=True)
    module.__path__ = []
    module.__package__ = name
    modules[name] = module
    parent, _, leaf = name.rpartition(".")
    if parent:
        setattr(modules[parent], leaf, module)
