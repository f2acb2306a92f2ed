"""What a scheduler does to requests, by SGLang's own requests, allocation and cache.

The scheduler's policy is left to the caller: which request runs, how far, and when it
is taken off.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from producers.lifecycle import lifecycle
from producers.serving import Serving


def make_request(name: str, tokens: Sequence[int]) -> Any:
    """A request that was not looked at yet."""
    from sglang.srt.managers.schedule_batch import Req
    from sglang.srt.sampling.sampling_params import SamplingParams

    return Req(name, "", array("q", tokens), SamplingParams(max_new_tokens=99))


def submit(serving: Serving, name: str, tokens: Sequence[int]) -> Any:
    """A request whose longest cached prefix is matched and locked."""
    request = make_request(name, tokens)
    match(serving, request)
    return request


def match(serving: Serving, request: Any) -> None:
    """Match a new or retracted request's tokens and lock what is found."""
    request.init_next_round_input(serving.tree_cache)
    lifecycle().lock(serving.tree_cache, request)


def unmatch(serving: Serving, request: Any) -> None:
    """Unlock what `match` locked, of a request that is not admitted after all."""
    lifecycle().unlock(serving.tree_cache, request)


def prefix_len(request: Any) -> int:
    """Tokens of the request that its next extend does not compute."""
    return lifecycle().prefix_len(request)


def extend(serving: Serving, requests: Sequence[Any], ends: Sequence[int]) -> Any:
    """Slots for the tokens of each request up to `ends`, and their forward batch."""
    from sglang.srt.mem_cache.allocation import alloc_for_extend

    for request, end in zip(requests, ends, strict=True):
        lifecycle().extend_to(request, end)
    prefix_lens = [prefix_len(request) for request in requests]
    extend_lens = [end - n for end, n in zip(ends, prefix_lens, strict=True)]
    seq_lens = torch.tensor(ends)
    out_cache_loc, rows, _ = alloc_for_extend(
        SimpleNamespace(
            device="cpu",
            extend_lens=extend_lens,
            extend_num_tokens=sum(extend_lens),
            hisparse_coordinator=None,
            is_dllm=lambda: False,
            maybe_evict_swa=lambda: None,
            prefix_lens=prefix_lens,
            req_to_token_pool=serving.req_to_token_pool,
            reqs=requests,
            seq_lens=seq_lens,
            seq_lens_cpu=seq_lens.clone(),
            tree_cache=serving.tree_cache,
        )
    )
    return extend_batch(rows, prefix_lens, extend_lens, out_cache_loc)


def extend_batch(
    rows: torch.Tensor,
    prefix_lens: Sequence[int],
    extend_lens: Sequence[int],
    out_cache_loc: torch.Tensor | None = None,
) -> Any:
    """SGLang's batch of an extend over rows of req_to_token.

    Args:
        rows: [bs] int64; row 0 belongs to no request.
        out_cache_loc: [sum of extend_lens] slots of the new tokens, if they are
            written.
    """
    from sglang.srt.model_executor.forward_batch_info import ForwardBatch, ForwardMode

    prefix, extends = torch.tensor(prefix_lens), torch.tensor(extend_lens)
    seq_lens = prefix + extends
    return ForwardBatch(
        forward_mode=ForwardMode.EXTEND,
        batch_size=len(prefix_lens),
        input_ids=torch.zeros(sum(extend_lens), dtype=torch.int64),
        req_pool_indices=rows,
        seq_lens=seq_lens,
        seq_lens_cpu=seq_lens.clone(),
        seq_lens_sum=int(seq_lens.sum()),
        out_cache_loc=out_cache_loc,
        extend_prefix_lens=prefix,
        extend_prefix_lens_cpu=list(prefix_lens),
        extend_seq_lens=extends,
        extend_seq_lens_cpu=list(extend_lens),
        extend_num_tokens=sum(extend_lens),
    )


def checkpoint(serving: Serving, request: Any) -> None:
    """Publish an extended request's tokens, as after each chunk of a prefill."""
    lifecycle().checkpoint(serving.tree_cache, request)


def decode(serving: Serving, requests: Sequence[Any]) -> Any:
    """A slot for one more token of each request, and their forward batch."""
    from sglang.srt.mem_cache.allocation import alloc_for_decode

    rows = torch.tensor([request.kv.req_pool_idx for request in requests])
    committed = torch.tensor([request.kv.kv_committed_len for request in requests])
    out_cache_loc = alloc_for_decode(
        SimpleNamespace(
            device="cpu",
            maybe_evict_swa=lambda: None,
            model_config=SimpleNamespace(is_encoder_decoder=False),
            req_pool_indices=rows,
            req_pool_indices_cpu=rows,
            req_to_token_pool=serving.req_to_token_pool,
            reqs=requests,
            seq_lens=committed,
            seq_lens_cpu=committed.clone(),
            tree_cache=serving.tree_cache,
        ),
        token_per_req=1,
    )
    return decode_batch(rows, (committed + 1).tolist(), out_cache_loc)


def decode_batch(
    rows: torch.Tensor,
    seq_lens: Sequence[int],
    out_cache_loc: torch.Tensor | None = None,
) -> Any:
    """SGLang's batch of a decode step; lengths include the new token."""
    from sglang.srt.model_executor.forward_batch_info import ForwardBatch, ForwardMode

    lens = torch.tensor(seq_lens)
    return ForwardBatch(
        forward_mode=ForwardMode.DECODE,
        batch_size=len(seq_lens),
        input_ids=torch.zeros(len(seq_lens), dtype=torch.int64),
        req_pool_indices=rows,
        seq_lens=lens,
        seq_lens_cpu=lens.clone(),
        seq_lens_sum=int(lens.sum()),
        out_cache_loc=out_cache_loc,
    )


def release(serving: Serving, request: Any, *, keep: bool) -> None:
    """Give a request's row back; with `keep` its tokens stay in the radix cache."""
    lifecycle().release(serving.tree_cache, request, keep=keep)


def cached_tokens(serving: Serving) -> int:
    """Tokens of the prefix cache, those in use included."""
    full, *_ = serving.tree_cache.total_size()
    return int(full)


def evict(serving: Serving, num_tokens: int) -> None:
    """Drop the least recent unlocked tokens of the radix cache."""
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams

    serving.tree_cache.evict(EvictParams(num_tokens=num_tokens))
