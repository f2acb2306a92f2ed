"""Draft steps of speculative decoding, through SGLang's multi-step draft backend."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from sglang.srt.layers.attention.aiter_backend import AiterMultiStepDraftBackend
from sglang.srt.speculative.eagle_info import EagleDraftExtendInput

from backend.bench import DECODE, DRAFT_EXTEND, Bench, Output, Part, Request
from backend.runner import configured


def draft_chain(bench: Bench, requests: list[Request], steps: int) -> list[Output]:
    """Outputs of the draft steps that attend, one per step: `steps` - 1 of them.

    Step i handles one token per request, which sees the request's tokens and the i
    drafted before it.
    """
    chain = [bench.take(requests, [1] * len(requests)) for _ in range(steps)]
    backend = make_draft_backend(bench, topk=1, steps=steps)
    batch = draft_batch(bench, chain[0])
    backend.init_forward_metadata(batch)
    return run_steps(bench, backend, batch, chain)


def run_steps(
    bench: Bench, backend: Any, batch: Any, chain: list[list[Part]]
) -> list[Output]:
    """Outputs of the steps of `chain` but the last, over metadata that is made."""
    outputs = []
    target = bench.backend
    for step, parts in enumerate(chain[:-1]):
        batch.out_cache_loc = torch.cat([part.slots for part in parts])
        batch.positions = torch.tensor([part.start for part in parts])
        bench.backend = backend.attn_backends[step]
        outputs += bench.forward(batch, parts)
    bench.backend = target
    return outputs


def run_drafts(bench: Bench, parts: list[Part], mode: Any) -> list[Output]:
    """Outputs of a batch that verifies drafts, or of the draft's own extend of them.

    Each part is one request's drafted tokens, as many in all of them.
    """
    batch = bench.make_batch(parts, mode)
    if mode == DRAFT_EXTEND:
        counts = torch.zeros(len(parts), dtype=torch.int32)
        batch.spec_info = EagleDraftExtendInput(num_correct_drafts=counts)
        batch.spec_info.num_tokens_per_req = parts[0].end - parts[0].start
    bench.backend.init_forward_metadata(batch)
    return bench.forward(batch, parts)


def make_draft_backend(bench: Bench, topk: int, steps: int) -> Any:
    with configured(bench.setup):
        return AiterMultiStepDraftBackend(bench.runner, topk, steps)


def draft_batch(bench: Bench, parts: list[Part]) -> Any:
    """A decode batch whose lengths end before the drafted tokens."""
    batch = bench.make_batch(parts, DECODE)
    batch.seq_lens = torch.tensor([part.start for part in parts])
    batch.seq_lens_cpu = batch.seq_lens.clone()
    batch.seq_lens_sum = int(batch.seq_lens.sum())
    batch.positions = batch.seq_lens.clone()
    batch.spec_info = SimpleNamespace(kv_indptr=None, kv_indices=None)
    return batch
