"""A layer's own softmax scale."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from backend.bench import Bench, require_right
from backend.branches import recorded
from backend.shapes import Setup
from backend.switches import switched

# Gemma 4 scales by 1, where head_dim**-0.5 is 1/16.
SCALING = 0.2
DROPPED = pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="upstream: sgl-project/sglang#38754, layer.scaling is not handed on",
)
BF16: dict[str, Any] = {"kv_dtype": torch.bfloat16}


@pytest.mark.parametrize(
    ("setup", "switches", "kernel"),
    [
        pytest.param({}, (), "flash_attn_varlen_fp8_pertensor_func", id="asm"),
        pytest.param(BF16, ("unified",), "unified_attention", id="unified"),
        pytest.param(BF16, (), "mha_batch_prefill_func", id="paged", marks=DROPPED),
        pytest.param(
            {"page_size": 64}, (), "mha_batch_prefill_func", id="view", marks=DROPPED
        ),
        pytest.param({}, ("5D",), "mha_batch_prefill_func", id="5D", marks=DROPPED),
    ],
)
def test_extend_honours_the_layers_scale(
    setup: dict[str, Any], switches: tuple[str, ...], kernel: str
) -> None:
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(scaling=SCALING, **setup))
        outputs = bench.extend([5, 3], [2, 1])
    assert [call.kernel for call in calls] == [kernel]
    require_right(outputs)


@pytest.mark.parametrize(
    ("switches", "kernel"),
    [
        pytest.param(("unified",), "unified_attention", id="unified"),
        pytest.param(("5D",), "pa_decode_gluon", id="5D"),
        pytest.param((), "paged_attention_ragged", id="ragged", marks=DROPPED),
    ],
)
def test_decode_honours_the_layers_scale(
    switches: tuple[str, ...], kernel: str
) -> None:
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(scaling=SCALING))
        outputs = bench.decode(bench.admit([5, 3]))
    assert [call.kernel for call in calls] == [kernel]
    require_right(outputs)
