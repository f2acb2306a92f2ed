"""A sequence's entries are the same alone, among others, and in any order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch

from producers.features import PAGE_VIEW
from producers.grids import Served, serve_grid
from producers.scheduling import extend_batch


@pytest.fixture(scope="module", params=[1, 16, 64], ids=lambda p: f"page {p}")
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    with serve_grid(request.param) as served:
        yield served


def segments(served: Served, rows: list[int]) -> list[dict[str, Any]]:
    """What each of the given rows of the batch gets when served as one batch."""
    whole, backend = served.batch, served.serving.backend
    batch = extend_batch(
        whole.req_pool_indices[rows],
        [whole.extend_prefix_lens_cpu[row] for row in rows],
        [whole.extend_seq_lens_cpu[row] for row in rows],
    )
    backend.init_forward_metadata(batch)
    fm = backend.forward_metadata
    tok_idx, cu_k = backend._asm_context_prefill_indices(
        batch, len(rows), served.serving.num_slots
    )
    found = [{"slots": tok_idx[a:b].tolist()} for a, b in pairwise(cu_k.tolist())]
    if PAGE_VIEW.here() and fm.paged_kv_view is not None:
        indptr, pages, last_lens = fm.paged_kv_view
        for i, (a, b) in enumerate(pairwise(indptr.tolist())):
            found[i] |= {"pages": pages[a:b].tolist(), "last": int(last_lens[i])}
    return found


def test_alone_as_together(served: Served) -> None:
    rows = [row for row, n in enumerate(served.lens) if n]
    together = segments(served, rows)
    for position, row in enumerate(rows):
        assert segments(served, [row]) == [together[position]], row


@pytest.mark.parametrize("seed", [1, 2])
def test_in_any_order(served: Served, seed: int) -> None:
    every = list(range(len(served.lens)))
    together = segments(served, every)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(every), generator=generator).tolist()
    assert segments(served, order) == [together[row] for row in order]
