"""The conversions between fp8 and float32."""

from __future__ import annotations

import pytest
import torch

from aiter_reference.fp8 import FP8_DTYPES, HALF_DTYPES, round_to_fp8, widen

EVERY_CODE = torch.arange(256, dtype=torch.uint8)


@pytest.mark.parametrize("dtype", FP8_DTYPES)
def test_widen_equals_torch_for_every_code(dtype: torch.dtype) -> None:
    codes = EVERY_CODE.view(dtype)
    expected = codes.float()
    actual = widen(codes)
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
    finite = ~expected.isnan()
    assert torch.equal(actual.signbit()[finite], expected.signbit()[finite])


@pytest.mark.parametrize("code", [0x7F, 0xFF])
def test_widen_finds_one_nan_code_among_finite_ones(code: int) -> None:
    codes = EVERY_CODE[(EVERY_CODE & 0x7F) != 0x7F]
    codes[100] = code
    nan = widen(codes.view(torch.float8_e4m3fn)).isnan()
    assert nan.nonzero().tolist() == [[100]]


@pytest.mark.parametrize("dtype", HALF_DTYPES)
def test_widen_keeps_half_values(dtype: torch.dtype) -> None:
    values = torch.randn(64, generator=torch.Generator().manual_seed(0)).to(dtype)
    assert torch.equal(widen(values), values.float())


def test_widen_keeps_shape_of_empty_and_of_high_rank() -> None:
    for shape in ((0, 4), (2, 3, 4, 5)):
        assert widen(torch.zeros(shape).to(torch.float8_e4m3fn)).shape == shape


def test_round_to_fp8_rounds_and_saturates() -> None:
    # 17 lies between 16 and 18: ties go to the even mantissa.
    values = torch.tensor([1.0, 17.0, 19.0, 1000.0, -1000.0])
    expected = torch.tensor([1.0, 16.0, 20.0, 448.0, -448.0])
    assert torch.equal(round_to_fp8(values), expected)
