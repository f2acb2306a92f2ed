"""Real producer to real consumer: a context chunk over the boundary lengths.

SGLang's allocator, req_to_token, index kernel, backend and K/V write, and the fork's
indices and gather; only the attention kernel is a recorder.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any
from unittest import mock

import pytest
import torch

from producers import contract
from producers.features import OWN_QUERY_OFFSETS, PAGE_VIEW
from producers.grids import PAGE_SIZES, Served, serve_grid
from producers.kernels import GATHERED, PAGED, require_reading
from producers.platform import load_aiter_backend
from producers.serving import HEAD_DIM, KV_HEADS

TAIL = 256


@pytest.fixture(scope="module", params=PAGE_SIZES, ids=lambda p: f"page {p}")
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    with serve_grid(request.param) as served:
        yield served


def has_view(served: Served) -> bool:
    """Whether the pages are read through the view, and nothing is gathered."""
    return served.serving.page_size == 64 and PAGE_VIEW.here()


def gathered(served: Served, *, host_lens: bool = True) -> tuple[Any, Any]:
    """Indices of the batch, computed anew; without host lengths they are validated."""
    fm, batch = served.metadata, served.batch
    lens = batch.seq_lens_cpu if host_lens else None
    with (
        mock.patch.object(fm, "asm_ctx_ready", False),
        mock.patch.object(batch, "seq_lens_cpu", lens),
    ):
        tok_idx, cu_k = served.serving.backend._asm_context_prefill_indices(
            batch, batch.batch_size, served.serving.num_slots
        )
    return tok_idx, cu_k


def test_kernel_reads_the_rows_of_every_token_of_every_sequence(
    served: Served,
) -> None:
    reading = served.readings[-1]
    assert len(served.lens) >= 11 and len(served.readings) == 2
    assert reading.query_lens == served.batch.extend_seq_lens_cpu
    kernel = PAGED if has_view(served) else GATHERED
    require_reading(reading, kernel, served.owners, served.lens)


def test_first_chunk_attends_to_itself_alone(served: Served) -> None:
    reading = served.readings[0]
    assert reading.query_lens == [len(rows) for rows in reading.k]


def test_tables_are_what_the_contract_declares(served: Served) -> None:
    serving, fm, lens = served.serving, served.metadata, served.lens
    bs, total = len(lens), sum(lens)
    where = {"page_size": serving.page_size, "num_slots": serving.num_slots}
    rows = serving.req_to_token[served.batch.req_pool_indices]
    contract.REQ_TO_TOKEN.check(rows, lens, **where)
    contract.KV_INDPTR.check(fm.kv_indptr, bs + 1, total=total, **where)
    contract.KV_INDICES.check(fm.kv_indices, total, **where)
    new = sum(served.batch.extend_seq_lens_cpu)
    # Before, the kernels were handed the buffer that all batches share.
    offsets = (fm if OWN_QUERY_OFFSETS.here() else serving.backend).qo_indptr
    contract.QO_INDPTR.check(offsets, bs + 1, total=new, **where)
    for host_lens in (True, False):
        tok_idx, cu_k = gathered(served, host_lens=host_lens)
        assert len(tok_idx) == total
        contract.TOK_IDX.check(tok_idx, total, **where)
        contract.CU_K.check(cu_k, bs + 1, total=total, **where)


def test_buffers_were_full_of_poison_before_they_were_written(served: Served) -> None:
    total = sum(served.lens)
    assert (total + TAIL,) in served.allocated, served.allocated
    # K and V of the whole context: none with the page view, which gathers nothing.
    gathers = 0 if has_view(served) else 2
    assert served.allocated.count((total, KV_HEADS, HEAD_DIM)) == gathers


@pytest.mark.parametrize("host_lens", [True, False], ids=["ordinary", "validated"])
def test_token_t_of_request_i_is_in_its_slot(served: Served, host_lens: bool) -> None:
    backend = load_aiter_backend()
    name = "_asm_context_prefill_gather_indices"
    with mock.patch.object(backend, name, wraps=getattr(backend, name)) as helper:
        tok_idx, cu_k = gathered(served, host_lens=host_lens)
    assert helper.call_count == (0 if host_lens else 1)
    want = served.token_slots()
    assert cu_k.tolist() == [0, *accumulate(map(len, want))]
    assert tok_idx.tolist() == [slot for slots in want for slot in slots]


def test_live_tokens_are_at_both_ends_of_the_pool_and_never_in_page_0(
    served: Served,
) -> None:
    slots = {slot for slots in served.token_slots() for slot in slots}
    page_size, num_slots = served.serving.page_size, served.serving.num_slots
    assert page_size in slots, "the first slot that is handed out"
    assert any(slot >= num_slots - page_size for slot in slots), "the last page"
    assert min(slots) >= page_size


def test_slots_are_a_bijection(served: Served) -> None:
    slots = [slot for slots in served.token_slots() for slot in slots]
    assert len(set(slots)) == len(slots) == sum(served.lens)


def test_tail_is_one_live_slot_and_counts_for_nothing(served: Served) -> None:
    table, total = served.metadata.kv_indices, sum(served.lens)
    tail = table[total:].tolist()
    assert tail == [int(table[0])] * TAIL
    for host_lens in (True, False):
        tok_idx, cu_k = gathered(served, host_lens=host_lens)
        assert len(tok_idx) == int(cu_k[-1]) == total == len(table) - TAIL


@pytest.mark.parametrize("host_lens", [True, False], ids=["ordinary", "validated"])
@pytest.mark.parametrize("tail", ["-1", "past the pool", "int32 max", "none"])
def test_tail_may_be_anything(served: Served, tail: str, host_lens: bool) -> None:
    fm, total = served.metadata, sum(served.lens)
    want = gathered(served, host_lens=host_lens)
    if tail == "none":
        table = fm.kv_indices[:total].clone()
    else:
        hostile = {"-1": -1, "past the pool": served.serving.num_slots}
        table = fm.kv_indices.clone()
        table[total:] = hostile.get(tail, 2**31 - 1)
    with mock.patch.object(fm, "kv_indices", table):
        got = gathered(served, host_lens=host_lens)
    assert got[0].tolist() == want[0].tolist() and got[1].tolist() == want[1].tolist()


@pytest.mark.parametrize("slot", [-1, "past the pool"])
def test_hostile_entry_of_a_live_token_is_refused(
    served: Served, slot: int | str
) -> None:
    fm = served.metadata
    for position in (0, sum(served.lens) // 2, sum(served.lens) - 1):
        table = fm.kv_indices.clone()
        table[position] = slot if isinstance(slot, int) else served.serving.num_slots
        with mock.patch.object(fm, "kv_indices", table):
            assert gathered(served, host_lens=False) == (None, None), position


def test_entries_behind_the_batch_are_left_alone(served: Served) -> None:
    """kv_indptr is one buffer for all batches, longer than this one's."""
    fm, bs = served.metadata, served.batch.batch_size
    want = gathered(served)
    kv_indptr = fm.kv_indptr.clone()
    assert len(kv_indptr) > bs + 1
    for stale in (-1, 2**30):
        kv_indptr[bs + 1 :] = stale
        with mock.patch.object(fm, "kv_indptr", kv_indptr):
            for host_lens in (True, False):
                got = gathered(served, host_lens=host_lens)
                assert torch.equal(got[1], want[1]), (stale, host_lens)
                assert torch.equal(got[0].long(), want[0].long()), (stale, host_lens)
