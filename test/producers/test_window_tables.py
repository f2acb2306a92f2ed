"""Two pools with disjoint slot numbers: each table holds numbers of its own alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from producers import contract, scheduling
from producers.chunks import attend, forward, make_layer
from producers.features import EXTEND_PAGE_TABLE
from producers.grids import poison
from producers.kernels import (
    GATHERED,
    PAGED,
    UNIFIED,
    record_kernels,
    require_reading,
)
from producers.serving import (
    FULL_LAYER,
    WINDOW,
    WINDOW_LAYER,
    Serving,
    serve,
)

LENS = [1, 15, 16, 17, 33, 40, 63, 64, 65]
pytestmark = pytest.mark.parametrize("page_size", [1, 2, 16, 64], ids="page {}".format)


@contextmanager
def prefilled(page_size: int) -> Iterator[tuple[Serving, list[Any], Any]]:
    """A window pool just large enough; the full pool is handed out above its end."""
    window_pages = sum(-(-(n + 3) // page_size) for n in LENS) + 2
    with serve(
        page_size, 3 * window_pages, window_pages=window_pages, context_len=128
    ) as serving:
        full = serving.allocator.full_attn_allocator
        full.free_pages = full.free_pages[full.free_pages > window_pages]
        poison(serving, FULL_LAYER, WINDOW_LAYER)
        requests = [
            scheduling.submit(serving, str(i), range(1000 * i, 1000 * i + n))
            for i, n in enumerate(LENS)
        ]
        with record_kernels():
            batch = scheduling.extend(serving, requests, LENS)
            forward(serving, batch, range(len(LENS)))
            attend(serving, batch, range(len(LENS)), window_layer())
        for request in requests:
            scheduling.checkpoint(serving, request)
        yield serving, requests, batch


def window_layer() -> Any:
    return make_layer(WINDOW_LAYER, WINDOW)


def mapped(serving: Serving, slots: torch.Tensor) -> torch.Tensor:
    """The window pool's slot of each full slot."""
    to_window: torch.Tensor = serving.pool.full_to_swa_index_mapping
    return to_window[slots.long()]


def require_disjoint(serving: Serving, full: set[int], window: set[int]) -> None:
    window_slots = serving.kv_buffers(WINDOW_LAYER)[0].shape[0]
    assert max(window) < window_slots <= min(full), (max(window), min(full))


def test_token_tables_of_an_extend(page_size: int) -> None:
    with prefilled(page_size) as (serving, _, batch):
        fm = serving.backend.forward_metadata
        slots = [
            serving.req_to_token[row, :n]
            for row, n in zip(batch.req_pool_indices.tolist(), LENS, strict=True)
        ]
        want, total = torch.cat(slots), sum(LENS)
        require_disjoint(
            serving, set(want.tolist()), set(mapped(serving, want).tolist())
        )
        window_slots = serving.kv_buffers(WINDOW_LAYER)[0].shape[0]
        where = {"page_size": page_size}
        contract.KV_INDICES.check(
            fm.kv_indices, total, num_slots=serving.num_slots, **where
        )
        contract.WINDOW_INDICES.check(
            fm.swa_page_table, total, num_slots=window_slots, **where
        )
        assert torch.equal(fm.kv_indices[:total], want)
        assert torch.equal(fm.swa_page_table[:total].long(), mapped(serving, want))
        tail = fm.swa_page_table[total:].tolist()
        assert set(tail) == {int(fm.swa_page_table[0])}


def check_page_tables(
    serving: Serving,
    tables: tuple[torch.Tensor, torch.Tensor],
    rows: Sequence[int],
    lens: Sequence[int],
) -> None:
    p = serving.page_size
    live = [-(-n // p) for n in lens]
    window_slots = serving.kv_buffers(WINDOW_LAYER)[0].shape[0]
    for table, declared, num_slots in (
        (tables[0], contract.PAGE_TABLE, serving.num_slots),
        (tables[1], contract.WINDOW_PAGE_TABLE, window_slots),
    ):
        declared.check(table[: len(lens)], live, page_size=p, num_slots=num_slots)
    for i, (row, n) in enumerate(zip(rows, lens, strict=True)):
        t = torch.arange(n)
        full, window = (table[i][t // p] * p + t % p for table in tables)
        slots = serving.req_to_token[row, :n]
        assert torch.equal(full, slots), (row, n)
        assert torch.equal(window.long(), mapped(serving, slots)), (row, n)


def require_read(
    serving: Serving,
    batch: Any,
    layer: Any,
    numbers: Sequence[int],
    kernel: str = UNIFIED,
) -> None:
    with record_kernels() as readings:
        attend(serving, batch, numbers, layer)
    (reading,) = readings
    require_reading(reading, kernel, numbers, batch.seq_lens.tolist())


@pytest.mark.parametrize("layer", ["full", "window"])
def test_each_layer_reads_its_own_pool(page_size: int, layer: str) -> None:
    with prefilled(page_size) as (serving, requests, _):
        chosen = make_layer() if layer == "full" else window_layer()
        # An extend without a page table takes its slots of the window pool instead.
        windowed = UNIFIED if EXTEND_PAGE_TABLE.here() else PAGED
        kernel = GATHERED if layer == "full" else windowed
        numbers = range(len(LENS))
        for request in requests:
            request.full_untruncated_fill_ids.extend([1, 2])
        batch = scheduling.extend(serving, requests, [n + 2 for n in LENS])
        serving.backend.init_forward_metadata(batch)
        require_read(serving, batch, chosen, numbers, kernel)
        batch = scheduling.decode(serving, requests)
        serving.backend.init_forward_metadata(batch)
        require_read(serving, batch, chosen, numbers)


def test_page_tables_of_a_decode(page_size: int) -> None:
    with prefilled(page_size) as (serving, requests, _):
        batch = scheduling.decode(serving, requests)
        serving.backend.init_forward_metadata(batch)
        fm = serving.backend.forward_metadata
        check_page_tables(
            serving,
            (fm.kv_indices, fm.swa_page_table),
            batch.req_pool_indices.tolist(),
            batch.seq_lens.tolist(),
        )


def test_page_tables_of_a_replay(page_size: int) -> None:
    half = len(LENS) // 2
    with prefilled(page_size) as (serving, requests, _):
        backend = serving.backend
        backend.init_cuda_graph_state(half, half)
        for number in range(2):
            mine = range(number * half, (number + 1) * half)
            batch = scheduling.decode(serving, [requests[i] for i in mine])
            backend.init_forward_metadata_out_graph(batch, in_capture=number == 0)
            fm = backend.forward_metadata
            check_page_tables(
                serving,
                (fm.kv_indices, fm.swa_page_table),
                batch.req_pool_indices.tolist(),
                batch.seq_lens.tolist(),
            )
            require_read_of_replay(serving, batch, mine, capture=number == 0)


def require_read_of_replay(
    serving: Serving, batch: Any, numbers: Sequence[int], *, capture: bool
) -> None:
    """At capture the write slots of the window pool are the sink's."""
    layers = [make_layer()] if capture else [make_layer(), window_layer()]
    for layer in layers:
        require_read(serving, batch, layer, numbers)


@pytest.mark.parametrize("source", ["requests", "flat table", "verify"])
def test_page_tables_of_extend_and_speculation(page_size: int, source: str) -> None:
    if source == "requests":
        EXTEND_PAGE_TABLE.require()
    with prefilled(page_size) as (serving, requests, batch):
        backend, rows = serving.backend, batch.req_pool_indices
        lens = LENS
        if source == "requests":
            tables = backend._build_extend_unified_page_table(
                len(LENS), batch.seq_lens, rows, max(LENS)
            )
        elif source == "verify":
            for _ in range(3):
                batch = scheduling.decode(serving, requests)
            committed = batch.seq_lens - 3
            made = backend._build_verify_unified_metadata(len(LENS), committed, rows, 3)
            tables, lens = (made[0], made[3]), batch.seq_lens.tolist()
        else:
            slots = [
                serving.req_to_token[row, :n]
                for row, n in zip(rows.tolist(), LENS, strict=True)
            ]
            spec_info = SimpleNamespace(
                kv_indptr=torch.tensor([0, *accumulate(LENS)], dtype=torch.int32),
                kv_indices=torch.cat(slots),
            )
            tables = backend._build_unified_page_table_from_spec(spec_info, len(LENS))
        check_page_tables(serving, tables, rows.tolist(), lens)
