"""SGLang's page-level view of any token table whose pages are whole."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from producers.features import PAGE_VIEW
from producers.platform import load_aiter_backend
from properties.profile import examples
from properties.reference import page_view
from properties.tables import Batch, batches

aiter_backend: Any = load_aiter_backend()


@pytest.fixture(autouse=True, scope="module")
def release_has_the_view() -> None:
    PAGE_VIEW.require()


def build(batch: Batch, table: torch.Tensor, page_size: int) -> list[torch.Tensor]:
    return list(aiter_backend._build_paged_kv_view(table, batch.seq_lens, page_size))


@examples(150)
@given(batch=batches(min_rows=1))
def test_view_is_the_pages_of_every_sequence(batch: Batch) -> None:
    made = build(batch, batch.kv_indices, batch.page_size)
    assert {part.dtype for part in made} == {torch.int32}
    want = page_view(batch.slots_of, batch.page_size)
    assert tuple(part.tolist() for part in made) == want


@examples(100)
@given(batch=batches(min_rows=1))
def test_view_reads_back_every_slot(batch: Batch) -> None:
    indptr, pages, last = build(batch, batch.kv_indices, batch.page_size)
    for row, slots in enumerate(batch.slots_of):
        mine = pages[indptr[row] : indptr[row + 1]].long()
        read = (mine[:, None] * batch.page_size + torch.arange(batch.page_size)).view(
            -1
        )
        length = (len(mine) - 1) * batch.page_size + int(last[row])
        assert read[:length].tolist() == slots


@examples(60)
@given(
    batch=batches(min_rows=1, page_sizes=st.sampled_from([64, 128, 256])),
)
def test_smaller_pages_of_the_view_divide_the_pools(batch: Batch) -> None:
    """Manager pages of 64, 128 and 256 under a kernel that wants 64."""
    made = build(batch, batch.kv_indices, 64)
    want = page_view(batch.slots_of, 64)
    assert tuple(part.tolist() for part in made) == want
