"""A mixed batch over the boundary lengths of a page size, by the real backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from producers import scheduling
from producers.chunks import boundary_grid, forward, with_empty_rows
from producers.kernels import Reading, record_kernels
from producers.poison import SentinelMemory
from producers.serving import Serving, serve
from producers.signatures import POISON

PAGE_SIZES = (1, 2, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Served:
    """A context chunk after its first layer.

    Attributes:
        batch: every (prefix, extend) of the boundary grid in one batch, prefix 0 beside
            prefixes, and rows of no token at both ends and in the middle.
        owners: the number that each row's K and V carry; row i is request owners[i].
        readings: what the kernels read, the first chunk's call first.
        allocated: shapes of the buffers that were made full of sentinels and NaN.
        metadata: the backend's, as the chunk's layers see it.
    """

    serving: Serving
    batch: Any
    owners: list[int]
    readings: list[Reading]
    allocated: list[tuple[int, ...]]

    @property
    def metadata(self) -> Any:
        return self.serving.backend.forward_metadata

    @property
    def lens(self) -> list[int]:
        lens: list[int] = self.batch.seq_lens.tolist()
        return lens

    def token_slots(self) -> list[list[int]]:
        """Token t of request i is in slot req_to_token[i, t]."""
        table = self.serving.req_to_token
        rows = self.batch.req_pool_indices.tolist()
        return [table[row, :n].tolist() for row, n in zip(rows, self.lens, strict=True)]


def poison(serving: Serving, *layers: int) -> None:
    """NaN in every slot of the pools, so that no unwritten one passes for a token."""
    for layer in layers or (0,):
        for buffer in serving.kv_buffers(layer):
            buffer.view(torch.uint8).fill_(POISON)


@contextmanager
def serve_grid(page_size: int, *, seed: int = 0) -> Iterator[Served]:
    """The boundary grid, prefilled in two chunks."""
    grid = boundary_grid(page_size)
    pages = sum(-(-(prefix + extend) // page_size) for prefix, extend in grid)
    with serve(page_size, pages + 3, seed=seed) as serving:
        poison(serving)
        requests = [
            scheduling.submit(serving, str(i), range(1000 * i, 1000 * i + sum(lens)))
            for i, lens in enumerate(grid)
        ]
        with record_kernels() as readings, SentinelMemory() as memory:
            first = [i for i, (prefix, _) in enumerate(grid) if prefix]
            batch = scheduling.extend(
                serving, [requests[i] for i in first], [grid[i][0] for i in first]
            )
            forward(serving, batch, first)
            for i in first:
                scheduling.checkpoint(serving, requests[i])
            batch = scheduling.extend(serving, requests, [sum(lens) for lens in grid])
            middle = len(grid) // 2
            empty = [0, middle, len(grid)]
            batch = with_empty_rows(batch, empty)
            owners = list(range(len(grid)))
            for position in sorted(empty, reverse=True):
                owners.insert(position, 0)
            forward(serving, batch, owners)
        yield Served(serving, batch, owners, readings, memory.filled)
