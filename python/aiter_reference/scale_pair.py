"""The scales of K and V of a whole cache."""

from __future__ import annotations

import torch

from aiter_reference.arguments import read_descale
from aiter_reference.validation import require


def read_scale_pair(
    kernel: str, device: torch.device, **scales: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two named scales of one float32 element as [1, 1] each; 1 if both are None.

    Raises:
        ValueError: only one is given, which aiter drops in some of its kernels and
            applies in others, or one has more than one element.
    """
    names = ", ".join(scales)
    given = [scale is not None for scale in scales.values()]
    require(all(given) or not any(given), kernel, names, "both given or neither", given)
    k_scale, v_scale = (
        torch.ones(1, 1, device=device)
        if scale is None
        else read_descale(kernel, name, scale, 1, 1)
        for name, scale in scales.items()
    )
    return k_scale, v_scale
