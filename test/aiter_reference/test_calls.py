"""The count of calls per kernel."""

from __future__ import annotations

import pytest

import aiter_reference
from aiter_reference.inputs import Shape, make_varlen_inputs


def test_calls_are_counted_by_kernel_and_reset() -> None:
    aiter_reference.reset_calls()
    arguments = make_varlen_inputs(0, Shape([2], [4]))
    aiter_reference.flash_attn_varlen_fp8_pertensor_func(**arguments)
    with pytest.raises(ValueError, match="max_seqlen_q"):
        aiter_reference.flash_attn_varlen_fp8_pertensor_func(
            **arguments | {"max_seqlen_q": 1}
        )
    name = "flash_attn_varlen_fp8_pertensor_func"
    assert dict(aiter_reference.calls) == {name: 2}
    aiter_reference.reset_calls()
    assert not aiter_reference.calls
