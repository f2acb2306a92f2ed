"""Page tables of unified attention: decode, extend, speculative, and graph replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from producers import contract, scheduling
from producers.chunks import attend, forward
from producers.features import EXTEND_PAGE_TABLE
from producers.grids import PAGE_SIZES, poison
from producers.kernels import UNIFIED, record_kernels, require_reading
from producers.poison import SENTINEL
from producers.serving import Serving, serve

# At page size 1 a page is a slot, and nothing converts.
pytestmark = pytest.mark.parametrize("page_size", PAGE_SIZES[1:], ids="page {}".format)
CONTEXT_LEN = 520


@pytest.fixture(autouse=True)
def unified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_USE_AITER_UNIFIED_ATTN", "1")


def lens_for(page_size: int) -> list[int]:
    p = min(page_size, CONTEXT_LEN // 2 - 2)
    return sorted({1, p - 1, p, p + 1, 2 * p - 1, 2 * p} - {0})


@contextmanager
def prefilled(
    page_size: int, lens: Sequence[int]
) -> Iterator[tuple[Serving, list[Any], Any]]:
    pages = sum(-(-(n + 4) // page_size) for n in lens) + 2
    with serve(page_size, pages, context_len=CONTEXT_LEN) as serving:
        poison(serving)
        requests = [
            scheduling.submit(serving, str(i), range(1000 * i, 1000 * i + n))
            for i, n in enumerate(lens)
        ]
        with record_kernels():
            batch = scheduling.extend(serving, requests, lens)
            forward(serving, batch, range(len(lens)))
        for request in requests:
            scheduling.checkpoint(serving, request)
        yield serving, requests, batch


def check_pages(
    serving: Serving, table: torch.Tensor, rows: Sequence[int], lens: Sequence[int]
) -> None:
    """Token t of request i is in page table[i, t // page_size], at t % page_size."""
    p = serving.page_size
    live = [-(-n // p) for n in lens]
    where = {"page_size": p, "num_slots": serving.num_slots}
    contract.PAGE_TABLE.check(table[: len(lens)], live, **where)
    for pages, row, n in zip(table, rows, lens, strict=False):
        t = torch.arange(n)
        read = pages[t // p] * p + t % p
        assert torch.equal(read, serving.req_to_token[row, :n]), (row, n)


def require_decoded(serving: Serving, batch: Any, numbers: Sequence[int]) -> None:
    with record_kernels() as readings:
        attend(serving, batch, numbers)
    (reading,) = readings
    require_reading(reading, UNIFIED, numbers, batch.seq_lens.tolist())


def test_eager_decode_reads_every_token_by_page(page_size: int) -> None:
    with prefilled(page_size, lens_for(page_size)) as (serving, requests, _):
        for _ in range(2):
            batch = scheduling.decode(serving, requests)
            serving.backend.init_forward_metadata(batch)
            table = serving.backend.forward_metadata.kv_indices
            rows, lens = batch.req_pool_indices.tolist(), batch.seq_lens.tolist()
            check_pages(serving, table, rows, lens)
            require_decoded(serving, batch, range(len(requests)))


@pytest.mark.parametrize("poisoned", [True, False], ids=["poisoned", "stale"])
def test_nothing_of_the_captured_batch_survives_a_replay(
    page_size: int, poisoned: bool
) -> None:
    lens = lens_for(page_size)
    with prefilled(page_size, [*lens, *lens[::-1]]) as (serving, requests, _):
        backend = serving.backend
        backend.init_cuda_graph_state(len(lens), len(lens))
        halves = requests[: len(lens)], requests[len(lens) :]
        addresses = set()
        for number, half in enumerate(halves):
            batch = scheduling.decode(serving, half)
            if poisoned:
                backend.cuda_graph_page_table.fill_(SENTINEL)
            backend.init_forward_metadata_out_graph(batch, in_capture=number == 0)
            table = backend.forward_metadata.kv_indices
            addresses.add(table.data_ptr())
            rows = batch.req_pool_indices.tolist()
            check_pages(serving, table, rows, batch.seq_lens.tolist())
            first = number * len(lens)
            require_decoded(serving, batch, range(first, first + len(lens)))
        assert len(addresses) == 1, "a graph replays one buffer"


def test_extend_reads_every_token_by_page(page_size: int) -> None:
    EXTEND_PAGE_TABLE.require()
    with prefilled(page_size, lens_for(page_size)) as (serving, _, batch):
        rows, lens = batch.req_pool_indices.tolist(), batch.seq_lens.tolist()
        table, window = serving.backend._build_extend_unified_page_table(
            len(lens), batch.seq_lens, batch.req_pool_indices, max(lens)
        )
        assert window is None
        check_pages(serving, table, rows, lens)


def test_verify_covers_the_draft_tokens(page_size: int) -> None:
    draft = 3
    with prefilled(page_size, lens_for(page_size)) as (serving, requests, _):
        for _ in range(draft):
            batch = scheduling.decode(serving, requests)
        committed = batch.seq_lens - draft
        table, qo_indptr, longest, _ = serving.backend._build_verify_unified_metadata(
            len(requests), committed, batch.req_pool_indices, draft
        )
        assert longest == draft and qo_indptr.tolist() == [
            draft * i for i in range(len(requests) + 1)
        ]
        rows = batch.req_pool_indices.tolist()
        check_pages(serving, table, rows, batch.seq_lens.tolist())


@pytest.mark.parametrize("buffer", ["fresh", "graph"])
def test_speculative_decode_turns_its_flat_table_into_pages(
    page_size: int, buffer: str
) -> None:
    with prefilled(page_size, lens_for(page_size)) as (serving, _, batch):
        rows, lens = batch.req_pool_indices.tolist(), batch.seq_lens.tolist()
        table = serving.req_to_token
        flat = [table[row, :n] for row, n in zip(rows, lens, strict=True)]
        spec_info = SimpleNamespace(
            kv_indptr=torch.tensor([0, *accumulate(lens)], dtype=torch.int32),
            kv_indices=torch.cat(flat),
        )
        width = -(-CONTEXT_LEN // page_size)
        dest = torch.full((len(lens), width), SENTINEL, dtype=torch.int32)
        table, _ = serving.backend._build_unified_page_table_from_spec(
            spec_info, len(lens), dest_buf=dest if buffer == "graph" else None
        )
        check_pages(serving, table, rows, lens)
