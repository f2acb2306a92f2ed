"""aiter's attention API in plain PyTorch, and the SGLang platform that uses it."""

from aiter_reference.calls import calls, reset_calls
from aiter_reference.gluon_decode import pa_decode_gluon
from aiter_reference.modules import install, uninstall
from aiter_reference.paged_decode import paged_attention_ragged
from aiter_reference.paged_prefill import mha_batch_prefill_func
from aiter_reference.unified import unified_attention
from aiter_reference.varlen_prefill import flash_attn_varlen_fp8_pertensor_func

__all__ = [
    "calls",
    "flash_attn_varlen_fp8_pertensor_func",
    "install",
    "mha_batch_prefill_func",
    "pa_decode_gluon",
    "paged_attention_ragged",
    "reset_calls",
    "unified_attention",
    "uninstall",
]
