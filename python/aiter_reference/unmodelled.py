"""Names of aiter that SGLang imports and that the reference does not compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

UNMODELLED: dict[str, tuple[str, ...]] = {
    "aiter": (
        "flash_attn_varlen_func",
        "get_mla_metadata_info_v1",
        "get_mla_metadata_v1",
        "get_ps_metadata_info_v1",
        "get_ps_metadata_v1",
        "mla_prefill_ps_asm_fwd",
        "mla_reduce_v1",
    ),
    "aiter.mla": ("mla_decode_fwd", "mla_prefill_fwd"),
}
"""By module, names in the import block of SGLang's aiter_backend.py, all of them for
MLA: one that is missing leaves every name of the block unbound."""


def make_unmodelled(module: str, name: str) -> Callable[..., NoReturn]:
    """A function that stands for `module.name` and raises when it is called."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"{module}.{name} is not modelled by the reference: it exists so that"
            " SGLang's import of aiter succeeds"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module
    return refuse
