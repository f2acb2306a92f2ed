"""What SGLang's attention kit lacks to run the AMD backend on a CPU.

The kit is `sglang.test.kits.attention_unittest` of the installed SGLang, with its own
cases, its own runner modes and its own reference. Here are a dtype for its model
configuration, a page size for the backend, an fp8 cache, and room for fp8's rounding.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from sglang.srt.layers.attention.attention_registry import ATTENTION_BACKENDS
from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool
from sglang.srt.runtime_context import get_schedule
from sglang.test.kits.attention_unittest.attention_methods import dense_attention
from sglang.test.kits.attention_unittest.runner_modes import (
    cuda_graph_decode_runner,
    speculative_draft_extend_runner,
    speculative_target_verify_runner,
    split_op_runner,
)

FP8 = torch.float8_e4m3fn
# The kit allows 0.03 and knows no fp8 cache. Rounding K and V to e4m3 moved 1 of 768
# outputs of one case by 0.035, no other by more than 0.03.
FP8_ATOL = 0.05
_WITH_TOLERANCE = (
    dense_attention,
    cuda_graph_decode_runner,
    speculative_draft_extend_runner,
    speculative_target_verify_runner,
    split_op_runner,
)
_make_backend = ATTENTION_BACKENDS["aiter"]


class Fp8Runner(dense_attention.MockModelRunner):
    """The kit's runner over an fp8 cache of the same shape."""

    token_to_kv_pool: Any

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kv_cache_dtype = FP8
        pool = self.token_to_kv_pool
        self.token_to_kv_pool = MHATokenToKVPool(
            size=pool.size,
            page_size=pool.page_size,
            dtype=FP8,
            head_num=pool.head_num,
            head_dim=pool.head_dim,
            layer_num=1,
            device=self.device,
            enable_memory_saver=False,
            enable_alt_stream=False,
        )


@contextmanager
def adapted(
    dtype: torch.dtype, fp8_cache: bool, contiguous: bool = False
) -> Iterator[None]:
    """The kit in the model dtype `dtype`, with a cache of it or of fp8.

    Args:
        contiguous: slots in order, where a runner mode rewrites the prefix in order
            whatever the layout: with pages of one token it hits other tokens' slots.
    """

    class ModelConfig(dense_attention.TinyModelConfig):
        pass

    ModelConfig.dtype = dtype
    with ExitStack() as stack:

        def patch(target: object, name: str, value: object) -> None:
            stack.enter_context(mock.patch.object(target, name, value))

        stack.enter_context(mock.patch.dict(ATTENTION_BACKENDS, aiter=_at_page_size))
        stack.enter_context(torch.no_grad())
        patch(dense_attention, "TinyModelConfig", ModelConfig)
        if contiguous:
            make = dense_attention.make_loc_fn
            in_order = functools.partial(_make_in_order, make)
            patch(dense_attention, "make_loc_fn", in_order)
        if fp8_cache:
            patch(dense_attention, "MockModelRunner", Fp8Runner)
            for module in _WITH_TOLERANCE:
                patch(module, "DENSE_ATOL", FP8_ATOL)
        yield


def _make_in_order(make: Any, layout: str, **sizes: Any) -> Any:
    return make("contiguous", **sizes)


def _at_page_size(runner: Any) -> Any:
    """The backend reads its page size from the configuration, which the kit leaves."""
    with get_schedule().override(page_size=runner.page_size):
        return _make_backend(runner)
