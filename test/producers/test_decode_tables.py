"""The flat decode table, eager and in a graph's buffers: capture, then replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
import torch

from producers import contract, scheduling
from producers.chunks import attend, forward
from producers.grids import PAGE_SIZES, poison
from producers.kernels import DECODE, record_kernels, require_reading
from producers.poison import SENTINEL, Fenced, SentinelMemory
from producers.serving import Serving, serve

pytestmark = pytest.mark.parametrize("page_size", PAGE_SIZES, ids="page {}".format)


@contextmanager
def running(
    page_size: int, groups: Sequence[Sequence[int]]
) -> Iterator[tuple[Serving, list[list[Any]]]]:
    """Groups of prefilled requests, numbered through, of the lengths given."""
    lens = [n for group in groups for n in group]
    pages = sum(-(-(n + 2) // page_size) for n in lens)
    with serve(page_size, pages + 2) as serving, record_kernels():
        poison(serving)
        requests = [
            scheduling.submit(serving, str(i), range(1000 * i, 1000 * i + n))
            for i, n in enumerate(lens)
        ]
        forward(serving, scheduling.extend(serving, requests, lens), range(len(lens)))
        for request in requests:
            scheduling.checkpoint(serving, request)
        left = iter(requests)
        yield serving, [[next(left) for _ in group] for group in groups]


def owners(requests: Sequence[Any]) -> list[int]:
    return [int(request.rid) for request in requests]


def slots_of(serving: Serving, batch: Any) -> list[int]:
    """Token t of request i is in slot req_to_token[i, t]."""
    rows = zip(batch.req_pool_indices.tolist(), batch.seq_lens.tolist(), strict=True)
    return [s for row, n in rows for s in serving.req_to_token[row, :n].tolist()]


def require_decoded(serving: Serving, batch: Any, requests: Sequence[Any]) -> None:
    """One layer of a decode batch reads every request's own rows, the newest too."""
    with record_kernels() as readings:
        attend(serving, batch, owners(requests))
    (reading,) = readings
    require_reading(reading, DECODE, owners(requests), batch.seq_lens.tolist())


def check_tables(serving: Serving, batch: Any, indices: contract.Table) -> None:
    fm = serving.backend.forward_metadata
    want = slots_of(serving, batch)
    where = {"page_size": serving.page_size, "num_slots": serving.num_slots}
    bs = batch.batch_size
    contract.DECODE_INDPTR.check(fm.kv_indptr, bs + 1, total=len(want), **where)
    indices.check(fm.kv_indices, len(want), **where)
    assert fm.kv_indices[: len(want)].tolist() == want


def boundary_lens(page_size: int) -> list[int]:
    """Lengths whose next token ends a page, opens one, or is second in one."""
    p = page_size
    return sorted({n for n in (1, p - 1, p, p + 1, 2 * p - 1, 2 * p) if n > 0})


def apply(serving: Serving, batch: Any, *, capture: bool) -> Any:
    serving.backend.init_forward_metadata_out_graph(batch, in_capture=capture)
    return serving.backend.forward_metadata


@pytest.mark.parametrize("draft_tokens", [0, 4])
def test_graph_buffer_has_room_for_the_longest_rows(
    page_size: int, draft_tokens: int
) -> None:
    """Sized in pages and filled in tokens, it is page_size times too small.

    First of the file: a write past the buffer may end the process.
    """
    bs, context_len = 2, 256
    pages = bs * -(-context_len // page_size) + 2
    with serve(
        page_size, pages, context_len=context_len, draft_tokens=draft_tokens
    ) as serving:
        backend = serving.backend
        backend.init_cuda_graph_state(bs, bs)
        capacity = backend.cuda_graph_kv_indices.numel()
        assert capacity >= bs * (context_len + draft_tokens)
        fenced = Fenced(capacity)
        requests = [
            scheduling.submit(serving, str(i), range(1000 * i, 1000 * i + context_len))
            for i in range(bs)
        ]
        with mock.patch.object(backend, "cuda_graph_kv_indices", fenced.buffer):
            full = scheduling.extend(serving, requests, [context_len] * bs)
            batch = scheduling.decode_batch(full.req_pool_indices, [context_len] * bs)
            apply(serving, batch, capture=False)
            check_tables(serving, batch, contract.GRAPH_INDICES)
        fenced.check_fences()


def test_eager_decode_reads_every_token(page_size: int) -> None:
    with running(page_size, [boundary_lens(page_size)]) as (serving, (requests,)):
        for _ in range(2):
            batch = scheduling.decode(serving, requests)
            serving.backend.init_forward_metadata(batch)
            check_tables(serving, batch, contract.DECODE_INDICES)
            require_decoded(serving, batch, requests)


def test_smaller_batch_after_a_larger_one_reads_its_own(page_size: int) -> None:
    """The scratch buffer is reused, and holds the larger batch behind the live end."""
    lens = boundary_lens(page_size)
    with running(page_size, [[*lens, 40], lens[:1]]) as (serving, (large, small)):
        for requests in (large, small):
            batch = scheduling.decode(serving, requests)
            serving.backend.init_forward_metadata(batch)
            check_tables(serving, batch, contract.DECODE_INDICES)
            require_decoded(serving, batch, requests)


@pytest.mark.parametrize("poisoned", [True, False], ids=["poisoned", "stale"])
def test_nothing_of_the_captured_batch_survives_a_replay(
    page_size: int, poisoned: bool
) -> None:
    lens = boundary_lens(page_size)
    groups = [lens, lens[::-1], lens[:1]]
    with running(page_size, groups) as (serving, (captured, *replayed)):
        backend = serving.backend
        backend.init_cuda_graph_state(len(lens), len(lens))
        fm = apply(serving, scheduling.decode(serving, captured), capture=True)
        buffers = fm.kv_indptr.data_ptr(), fm.kv_indices.data_ptr()
        for requests in replayed:
            if poisoned:
                backend.cuda_graph_kv_indices.fill_(SENTINEL)
                backend.kv_indptr[1:].fill_(SENTINEL)
            batch = scheduling.decode(serving, requests)
            fm = apply(serving, batch, capture=False)
            assert (fm.kv_indptr.data_ptr(), fm.kv_indices.data_ptr()) == buffers
            check_tables(serving, batch, contract.GRAPH_INDICES)
            require_decoded(serving, batch, requests)


def test_live_entries_were_all_written(page_size: int) -> None:
    """Freshly allocated buffers hold sentinels; none is left among live entries."""
    lens = boundary_lens(page_size)
    with running(page_size, [lens]) as (serving, (requests,)):
        batch = scheduling.decode(serving, requests)
        with SentinelMemory() as memory:
            serving.backend.init_forward_metadata(batch)
        assert memory.filled, "no buffer was allocated"
        check_tables(serving, batch, contract.DECODE_INDICES)
        assert torch.all(serving.backend.forward_metadata.kv_indices != SENTINEL)
