"""Parameter names, order and defaults are aiter's, written out from its sources."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

import aiter_reference
from aiter_reference.gluon_decode import get_recommended_splits

REQUIRED = inspect.Parameter.empty

VARLEN = {
    "q": REQUIRED,
    "k": REQUIRED,
    "v": REQUIRED,
    "q_descale": REQUIRED,
    "k_descale": REQUIRED,
    "v_descale": REQUIRED,
    "cu_seqlens_q": REQUIRED,
    "cu_seqlens_k": REQUIRED,
    "max_seqlen_q": REQUIRED,
    "max_seqlen_k": REQUIRED,
    "min_seqlen_q": 0,
    "logits_soft_cap": 0.0,
    "causal": False,
    "window_size": (-1, -1, 0),
    "softmax_scale": None,
    "sink_ptr": None,
}
BATCH_PREFILL = {
    "q": REQUIRED,
    "k": REQUIRED,
    "v": REQUIRED,
    "cu_seqlens_q": REQUIRED,
    "kv_indptr": REQUIRED,
    "kv_page_indices": REQUIRED,
    "max_seqlen_q": REQUIRED,
    "max_seqlen_k": REQUIRED,
    "dropout_p": 0.0,
    "softmax_scale": None,
    "logits_soft_cap": 0.0,
    "causal": False,
    "window_size": (-1, -1),
    "alibi_slopes": None,
    "deterministic": False,
    "return_lse": False,
    "return_attn_probs": False,
    "out": None,
    "kv_last_page_lens": None,
    "block_table": None,
    "seqlen_k": None,
    "q_descale": None,
    "k_descale": None,
    "v_descale": None,
    "kv_block_descale": None,
    "sink_ptr": None,
    "sink_size": 0,
}
RAGGED = {
    "out": REQUIRED,
    "workspace_buffer": REQUIRED,
    "query": REQUIRED,
    "key_cache": REQUIRED,
    "value_cache": REQUIRED,
    "scale": REQUIRED,
    "kv_indptr": REQUIRED,
    "kv_page_indices": REQUIRED,
    "kv_last_page_lens": REQUIRED,
    "block_size": REQUIRED,
    "max_num_partitions": REQUIRED,
    "alibi_slopes": REQUIRED,
    "kv_cache_dtype": REQUIRED,
    "kv_cache_layout": REQUIRED,
    "logits_soft_cap": REQUIRED,
    "k_scale": REQUIRED,
    "v_scale": REQUIRED,
    "fp8_out_scale": None,
    "partition_size": 256,
    "mtp": 1,
}
UNIFIED = {
    "q": REQUIRED,
    "k": REQUIRED,
    "v": REQUIRED,
    "out": REQUIRED,
    "cu_seqlens_q": REQUIRED,
    "max_seqlen_q": REQUIRED,
    "seqused_k": REQUIRED,
    "max_seqlen_k": REQUIRED,
    "softmax_scale": REQUIRED,
    "causal": REQUIRED,
    "window_size": REQUIRED,
    "block_table": REQUIRED,
    "softcap": REQUIRED,
    "q_descale": REQUIRED,
    "k_descale": REQUIRED,
    "v_descale": REQUIRED,
    "q_scales": None,
    "alibi_slopes": None,
    "output_scale": None,
    "qq_bias": None,
    "sinks": None,
    "shuffled_kv_cache": False,
    "skip_reduce": False,
}
GLUON = {
    "output": REQUIRED,
    "query": REQUIRED,
    "key_cache": REQUIRED,
    "value_cache": REQUIRED,
    "context_lengths": REQUIRED,
    "block_tables": REQUIRED,
    "softmax_scale": REQUIRED,
    "query_length": REQUIRED,
    "max_context_partition_num": REQUIRED,
    "context_partition_size": 256,
    "compute_type": torch.bfloat16,
    "query_scale": None,
    "key_scale": None,
    "value_scale": None,
    "exp_sums": None,
    "max_logits": None,
    "temporary_output": None,
    "alibi_slopes": None,
    "sinks": None,
    "sliding_window": 0,
    "ps": True,
}
SPLITS = {"num_sequences": REQUIRED, "num_kv_heads": REQUIRED, "split_kv_blocks": 1}


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (aiter_reference.flash_attn_varlen_fp8_pertensor_func, VARLEN),
        (aiter_reference.mha_batch_prefill_func, BATCH_PREFILL),
        (aiter_reference.paged_attention_ragged, RAGGED),
        (aiter_reference.unified_attention, UNIFIED),
        (aiter_reference.pa_decode_gluon, GLUON),
        (get_recommended_splits, SPLITS),
    ],
)
def test_signature_is_that_of_aiter(
    kernel: Callable[..., Any], expected: dict[str, Any]
) -> None:
    parameters = inspect.signature(kernel).parameters
    assert [(name, p.default) for name, p in parameters.items()] == list(
        expected.items()
    )
    kinds = {p.kind for p in parameters.values()}
    assert kinds == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
