"""The fp8 storage types and their conversions."""

from __future__ import annotations

import torch

FP8_DTYPES = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)
HALF_DTYPES = (torch.bfloat16, torch.float16)

_CLEAR_COPIED_SIGN = ~0x4000


def widen(values: torch.Tensor) -> torch.Tensor:
    """`values`, of any shape and float dtype, as float32; every value is exact.

    torch converts e4m3fn element by element on a CPU, which was most of the time of a
    decode call (2.7 ns an element). An e4m3fn code moved up by 7 bits is the float16
    with 2**-8 of its value, subnormals included, and integer steps vectorise (0.2 ns).
    Only the two NaN codes need a hand.
    """
    if values.dtype != torch.float8_e4m3fn:
        return values.float()
    codes = values.view(torch.int8)
    # Widening to int16 copies the sign into bits 7 to 14: moved up, bit 15 is the sign
    # of the float16 and bit 14 has to be cleared. A product is faster than a shift.
    bits = codes.to(torch.int16).mul_(128).bitwise_and_(_CLEAR_COPIED_SIGN)
    wide = bits.view(torch.float16).float().mul_(256.0)
    if _has_nan(codes):
        wide.masked_fill_((codes & 0x7F) == 0x7F, torch.nan)
    return wide


def _has_nan(codes: torch.Tensor) -> bool:
    """Whether any e4m3fn code is 0x7F or 0xFF, the largest as int8 and as uint8."""
    if codes.numel() == 0:
        return False
    return int(codes.amax()) == 0x7F or int(codes.view(torch.uint8).amax()) == 0xFF


def round_to_fp8(values: torch.Tensor) -> torch.Tensor:
    """`values` rounded to e4m3fn and back, float32; saturates beyond +-448."""
    limit = torch.finfo(torch.float8_e4m3fn).max
    narrow = values.float().clamp(-limit, limit).to(torch.float8_e4m3fn)
    return widen(narrow)
