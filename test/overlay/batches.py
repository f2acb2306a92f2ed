"""Stand-ins for what the overlay's methods read of a backend, a batch and a layer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

SLOTS = 1024


def extend_batch(
    lens: list[int],
    *,
    spec_info: object = None,
    host_lens: list[int] | None | str = "same",
    pad: int = 256,
    declare_cache_fields: bool = True,
) -> tuple[Any, Any]:
    """(backend, forward_batch) of an extend batch over shuffled slots.

    Args:
        lens: prefix plus extend tokens of each sequence.
        spec_info: not None for a speculative batch.
        host_lens: lengths as the host knows them; None if it does not.
        pad: entries behind the table, copies of its first as the producer writes.
        declare_cache_fields: as SGLang's metadata has them since 0.5.21.
    """
    seq_lens = torch.tensor(lens)
    kv_indptr = torch.tensor([0, *lens]).cumsum(0).to(torch.int32)
    generator = torch.Generator().manual_seed(sum(lens))
    slots = torch.randperm(SLOTS, generator=generator)[: sum(lens)].to(torch.int32)
    metadata = SimpleNamespace(
        kv_indptr=kv_indptr,
        kv_indices=torch.cat((slots, slots[:1].expand(pad))),
        qo_indptr=None,
        max_q_len=max(lens),
        max_kv_len=max(lens),
    )
    if declare_cache_fields:
        metadata.asm_ctx_ready = False
        metadata.asm_ctx_tok_idx = metadata.asm_ctx_cu_k = None
    host = lens if host_lens == "same" else host_lens
    batch = SimpleNamespace(
        batch_size=len(lens),
        seq_lens=seq_lens,
        seq_lens_cpu=None if host is None else torch.tensor(host),
        spec_info=spec_info,
        forward_mode=SimpleNamespace(is_extend=lambda: True),
    )
    return SimpleNamespace(forward_metadata=metadata), batch
