"""What SGLang's own Triton kernels take from aiter while they are being imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

e4m3_dtype = torch.float8_e4m3fn
"""The e4m3 of gfx950, which has the OCP format; gfx942 has float8_e4m3fnuz."""


def make_kernel_repr(
    base_name: str, config_keys: Sequence[str]
) -> Callable[[Any], str]:
    """A `repr` for triton.jit that names a compiled kernel after its constants.

    Returns:
        A function of Triton's specialization, whose `constants` are read by key.
    """

    def name_kernel(specialization: Any) -> str:
        constants = specialization.constants
        parts = [base_name]
        for key in config_keys:
            value = re.sub(r"\W+", "_", str(constants.get(key)))
            parts.append(f"{key}_{value}")
        return "_".join(parts)

    return name_kernel
