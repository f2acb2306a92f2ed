"""Decode through a captured graph, without a GPU.

What a graph freezes is here the metadata object of the capture: its tensors by address
and its numbers by value. A replay refreshes the buffers and runs on that object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sglang.srt.model_executor.forward_batch_info import ForwardBatch

from backend.bench import DECODE, Bench, Output, Part

# No page and no slot of any pool.
HOSTILE = 2**31 - 1


class DecodeGraph:
    """A decode graph of `size` rows over a bench's backend."""

    def __init__(self, bench: Bench, size: int) -> None:
        self.bench, self.size = bench, size
        self.backend = bench.backend
        self.backend.init_cuda_graph_state(size, size)
        # What overflows is written to somebody's memory: before it is.
        flat, tokens = self.tables()[0], size * bench.setup.context_len
        assert flat.numel() >= tokens, f"{flat.numel()} entries for {tokens} tokens"
        self.fill = self.backend.get_cuda_graph_seq_len_fill_value()
        lens = torch.full((size,), self.fill)
        self.batch = ForwardBatch(
            forward_mode=DECODE,
            batch_size=size,
            input_ids=torch.zeros(size, dtype=torch.int64),
            req_pool_indices=torch.zeros(size, dtype=torch.int64),
            seq_lens=lens,
            seq_lens_cpu=lens.clone(),
            seq_lens_sum=int(lens.sum()),
            out_cache_loc=torch.zeros(size, dtype=torch.int64),
            positions=torch.zeros(size, dtype=torch.int64),
        )
        self.backend.init_forward_metadata_out_graph(self.batch, in_capture=True)
        self.backend.init_forward_metadata_in_graph(self.batch)
        self.captured = self.backend.forward_metadata

    def replay(self, parts: Sequence[Part], **options: Any) -> list[Output]:
        """Serve up to `size` parts of one token; the rows behind them are padding.

        The tables hold no valid entry when the backend is asked to refresh them.
        """
        live = self.bench.make_batch(parts, DECODE)
        for name, pad in (
            ("seq_lens", self.fill),
            ("seq_lens_cpu", self.fill),
            ("req_pool_indices", 0),
            ("out_cache_loc", 0),
        ):
            static = getattr(self.batch, name)
            static.fill_(pad)
            static[: len(parts)] = getattr(live, name)
        self.batch.seq_lens_sum = int(self.batch.seq_lens.sum())
        for table in self.tables():
            table.fill_(HOSTILE)
        self.backend.init_forward_metadata_out_graph(self.batch)
        self.backend.forward_metadata = self.captured
        padding = self.size - len(parts)
        return self.bench.forward(self.batch, parts, padding=padding, **options)

    def tables(self) -> list[torch.Tensor]:
        """The buffers that replays find slots or page ids in."""
        names = ("kv_indices", "page_table", "swa_page_table")
        found = (getattr(self.backend, f"cuda_graph_{name}", None) for name in names)
        return [table for table in found if table is not None]
