"""Static fp8 quantisation of the query."""

from __future__ import annotations

from types import ModuleType

import torch


def scaled_fp8_quant(
    input: torch.Tensor,
    scale: torch.Tensor | None = None,
    num_token_padding: int | None = None,
    use_per_token_if_dynamic: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """clamp(input / scale) in fp8, as SGLang's function of this name.

    Args:
        input: [rows, columns], any float dtype.
        scale: one element; the AMD backend quantises with a static scale only.

    Returns:
        ([rows, columns] float8_e4m3fn, scale).

    Raises:
        NotImplementedError: dynamic scales or padding are asked for.
    """
    if scale is None:
        raise NotImplementedError("scaled_fp8_quant: scale=None (dynamic) on a CPU")
    if num_token_padding:
        raise NotImplementedError(
            f"scaled_fp8_quant: num_token_padding={num_token_padding} on a CPU"
        )
    if use_per_token_if_dynamic:
        raise NotImplementedError(
            "scaled_fp8_quant: use_per_token_if_dynamic=True on a CPU"
        )
    return saturate_fp8(input.float() / scale), scale


def saturate_fp8(values: torch.Tensor) -> torch.Tensor:
    """`values` in float8_e4m3fn; beyond its range the largest value, not NaN."""
    limit = torch.finfo(torch.float8_e4m3fn).max
    return values.clamp(-limit, limit).to(torch.float8_e4m3fn)


def patch_fp8_quant(backend: ModuleType) -> None:
    """SGLang defines the function for CUDA and HIP only."""
    backend.scaled_fp8_quant = scaled_fp8_quant  # type: ignore[attr-defined]
