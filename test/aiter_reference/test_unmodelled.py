"""What the reference does not model is refused by name, never ignored."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from aiter_reference import (
    flash_attn_varlen_fp8_pertensor_func,
    mha_batch_prefill_func,
    pa_decode_gluon,
    paged_attention_ragged,
    unified_attention,
)
from aiter_reference.inputs import Shape, make_paged_inputs, make_varlen_inputs
from aiter_reference.table_inputs import gluon_arguments, unified_arguments
from aiter_reference.unmodelled import UNMODELLED, make_unmodelled

SHAPE = Shape([1, 1], [20, 3], dtype=torch.bfloat16)


def refused(*words: str) -> Any:
    pattern = ".*".join(re.escape(word) for word in words)
    return pytest.raises(NotImplementedError, match=pattern)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("dropout_p", 0.1, "0.1"),
        ("alibi_slopes", torch.ones(4), "torch.float32 (4,)"),
        ("return_lse", True, "True"),
        ("return_attn_probs", True, "True"),
        ("block_table", torch.zeros(2, 2), "(2, 2)"),
        ("seqlen_k", torch.ones(2), "(2,)"),
        ("kv_block_descale", torch.ones(9, 2, 2), "(9, 2, 2)"),
        ("sink_size", 4, "4"),
    ],
)
def test_batch_prefill_refuses(name: str, value: object, shown: str) -> None:
    arguments = make_paged_inputs(0, SHAPE, 16).prefill_arguments(paged=True)
    with refused("mha_batch_prefill_func", f"{name}=", shown):
        mha_batch_prefill_func(**arguments | {name: value})


def test_batch_prefill_refuses_the_vectorized_layout() -> None:
    arguments = make_paged_inputs(0, SHAPE, 16).prefill_arguments(paged=True)
    arguments["k"] = torch.zeros(9, 2, 32, 16, 8, dtype=torch.bfloat16)
    with refused("VECTORIZED", "k=", "(9, 2, 32, 16, 8)"):
        mha_batch_prefill_func(**arguments)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("alibi_slopes", torch.ones(4), "torch.float32 (4,)"),
        ("kv_cache_layout", "HND", "HND"),
        ("fp8_out_scale", torch.ones(1), "(1,)"),
        ("mtp", 2, "2"),
    ],
)
def test_ragged_decode_refuses(name: str, value: object, shown: str) -> None:
    arguments = make_paged_inputs(0, SHAPE, 16).decode_arguments(paged=True)
    with refused("paged_attention_ragged", f"{name}=", shown):
        paged_attention_ragged(**arguments | {name: value})


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [("min_seqlen_q", 1, "min_seqlen_q=1"), ("window_size", (-1, -1, 4), "size[2]=4")],
)
def test_varlen_refuses(name: str, value: object, named: str) -> None:
    arguments = make_varlen_inputs(0, Shape([1], [4]))
    with refused("flash_attn_varlen_fp8_pertensor_func", named):
        flash_attn_varlen_fp8_pertensor_func(**arguments | {name: value})


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("q_scales", torch.ones(1), "(1,)"),
        ("alibi_slopes", torch.ones(4), "(4,)"),
        ("output_scale", torch.ones(1), "(1,)"),
        ("qq_bias", torch.ones(2, 2), "(2, 2)"),
        ("shuffled_kv_cache", True, "True"),
        ("skip_reduce", True, "True"),
    ],
)
def test_unified_refuses(name: str, value: object, shown: str) -> None:
    arguments = unified_arguments(make_paged_inputs(0, SHAPE, 16))
    with refused("unified_attention", f"{name}=", shown):
        unified_attention(**arguments | {name: value})


def test_unified_refuses_keys_to_the_right() -> None:
    arguments = unified_arguments(make_paged_inputs(0, SHAPE, 16))
    with refused("unified_attention", "window_size[1]=3"):
        unified_attention(**arguments | {"window_size": (7, 3)})


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("query_length", 2, "2"),
        ("query_scale", torch.ones(1), "(1,)"),
        ("alibi_slopes", torch.ones(4), "(4,)"),
        ("ps", False, "False"),
        ("compute_type", torch.float8_e4m3fn, "float8_e4m3fn"),
    ],
)
def test_gluon_decode_refuses(name: str, value: object, shown: str) -> None:
    arguments = gluon_arguments(make_paged_inputs(0, SHAPE, 16))
    with refused("pa_decode_gluon", f"{name}=", shown):
        pa_decode_gluon(**arguments | {name: value})


@pytest.mark.parametrize(
    ("module", "name"),
    [(module, name) for module, names in UNMODELLED.items() for name in names],
)
def test_import_only_name_raises_when_called(module: str, name: str) -> None:
    function = make_unmodelled(module, name)
    assert function.__name__ == name
    with refused(f"{module}.{name} is not modelled"):
        function(1, key=2)
