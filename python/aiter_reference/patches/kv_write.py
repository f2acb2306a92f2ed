"""The fused cast and write of new K/V into the paged pool."""

from __future__ import annotations

from types import ModuleType

import torch

from aiter_reference.patches.fp8_quant import saturate_fp8


def launch_reshape_and_cache_flash(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    swa_slot_mapping: torch.Tensor | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
) -> None:
    """Write one row per token into its slot, as SGLang's function of this name.

    Args:
        key, value: [tokens, heads, dim], any float dtype.
        key_cache, value_cache: [pages, page_size, heads, dim].
        slot_mapping: [tokens] slots; a negative one is not written.
        swa_slot_mapping: [slots of the full pool] slots of the window's pool.
        k_scale, v_scale: one element each: what is stored is key / k_scale.
    """
    slots = slot_mapping.long()
    live = slots >= 0
    if swa_slot_mapping is not None:
        slots = swa_slot_mapping[slots.clamp(min=0)].long()
        live &= slots >= 0
    for rows, cache, scale in (
        (key, key_cache, k_scale),
        (value, value_cache, v_scale),
    ):
        scaled = rows.float() if scale is None else rows.float() / scale
        _store(scaled[live], cache, slots[live])


def _store(rows: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor) -> None:
    # A view or an error: a copy would swallow the write.
    flat = cache.view(-1, *cache.shape[2:])
    if cache.dtype == torch.float8_e4m3fn:
        # Through bytes: torch has no indexed copy for fp8.
        flat.view(torch.uint8)[slots] = saturate_fp8(rows).view(torch.uint8)
    else:
        flat[slots] = rows.to(cache.dtype)


def patch_kv_write(backend: ModuleType) -> None:
    """SGLang's Triton kernel took 1.3 s of a 1.5 s request under the interpreter."""
    backend.launch_reshape_and_cache_flash = (  # type: ignore[attr-defined]
        launch_reshape_and_cache_flash
    )
