"""SGLang's index kernels around the number of entries that one pass copies.

A pass of the flat kernel is 512 tokens, one of the row kernel 4096 tokens, one of the
scatter kernels 1024 pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import pytest
import torch

from producers.features import TOKEN_BLOCKS
from producers.index_kernels import flat_kernels, page_table_kernels
from producers.platform import load_aiter_backend
from producers.poison import SENTINEL, Fenced

FLAT_PASS, ROW_PASS, SCATTER_PASS = 512, 4096, 1024
PAGE_SIZES = (1, 2, 16, 32, 64, 128)


def around(count: int) -> list[int]:
    return [count - 1, count, count + 1]


def make_rows(
    lens: Sequence[int], width: int, page_size: int = 1
) -> tuple[torch.Tensor, torch.Tensor]:
    """(req_to_token [rows, width], rows in use): shuffled pages, foreign rows between.

    Entries beyond a row's length are out of any pool.
    """
    generator = torch.Generator().manual_seed(len(lens) + width)
    pages = [-(-n // page_size) for n in lens]
    shuffled = torch.randperm(sum(pages), generator=generator) + 1
    order = torch.split(shuffled, pages)
    table = torch.full((2 * len(lens) + 1, width), 10**9, dtype=torch.int32)
    rows = torch.arange(2 * len(lens), 0, -2)
    for row, mine, n in zip(rows.tolist(), order, lens, strict=True):
        slots = (mine[:, None] * page_size + torch.arange(page_size)).flatten()[:n]
        table[row, :n] = slots.to(torch.int32)
    return table, rows


def copy_flat(
    table: torch.Tensor, rows: torch.Tensor, lens: Sequence[int], blocks: int | None
) -> Fenced:
    copy = flat_kernels().create_flashinfer_kv_indices_triton
    fenced = Fenced(sum(lens))
    grid: tuple[int, ...] = (len(lens),) if blocks is None else (len(lens), blocks)
    parallel = {} if blocks is None else {"TOKEN_BLOCK_PARALLEL": blocks > 1}
    kv_indptr = torch.tensor([0, *accumulate(lens)], dtype=torch.int32)
    copy[grid](
        table,
        rows,
        torch.tensor(lens),
        kv_indptr,
        None,
        fenced.buffer,
        table.stride(0),
        **parallel,
    )
    return fenced


@pytest.mark.parametrize("blocks", [None, 1, 3])
@pytest.mark.parametrize("passes", [1, 2, 4])
def test_flat_copy_fills_every_live_entry_and_no_other(
    passes: int, blocks: int | None
) -> None:
    load_aiter_backend()
    if blocks is not None:
        TOKEN_BLOCKS.require()
    lens = [0, *around(passes * FLAT_PASS), 1, 0]
    table, rows = make_rows(lens, width=4 * FLAT_PASS + 1)
    fenced = copy_flat(table, rows, lens, blocks)
    want = [table[row, :n].tolist() for row, n in zip(rows, lens, strict=True)]
    assert fenced.buffer.tolist() == sum(want, [])
    fenced.check_fences()


def test_flat_copy_finds_rows_beyond_int32(tmp_path: Path) -> None:
    """Row times width overflows 32 bits. The table is a sparse file: no memory."""
    load_aiter_backend()
    rows, width = 2**11 + 2, 2**20
    file = tmp_path / "req_to_token"
    with file.open("wb") as handle:
        handle.truncate(rows * width * 4)
    flat = torch.from_file(str(file), shared=True, size=rows * width, dtype=torch.int32)
    table = flat.view(rows, width)
    used = [2**11 - 1, 2**11, rows - 1]
    lens = [600, 5, 513]
    for row, n in zip(used, lens, strict=True):
        table[row, :n] = torch.arange(n, dtype=torch.int32) + 1000 * row
    fenced = copy_flat(table, torch.tensor(used), lens, None)
    want = [table[row, :n].tolist() for row, n in zip(used, lens, strict=True)]
    assert used[-1] * width > 2**31 and fenced.buffer.tolist() == sum(want, [])


def require_pages(
    pages: torch.Tensor,
    want: Sequence[torch.Tensor],
    page_size: int,
) -> None:
    """Each row of `pages` has the pages of its slots, then nothing but sentinels."""
    for got, slots in zip(pages, want, strict=True):
        live = -(-len(slots) // page_size)
        offsets = torch.arange(len(slots))
        read = got[offsets // page_size] * page_size + offsets % page_size
        assert torch.equal(read, slots), (read[:8].tolist(), slots[:8].tolist())
        assert set(got[live:].tolist()) <= {SENTINEL}, got[live:][:8].tolist()


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("source", ["requests", "drafts", "ragged"])
def test_scatter_fills_every_page_and_no_other(page_size: int, source: str) -> None:
    """From req_to_token, the same with draft tokens, and from a flat table."""
    load_aiter_backend()
    kernels = page_table_kernels()
    lens = [1, *around(page_size), *around(page_size * SCATTER_PASS)]
    table, rows = make_rows(lens, max(lens), page_size)
    want = [table[row, :n] for row, n in zip(rows, lens, strict=True)]
    width = -(-max(lens) // page_size)
    pages = torch.full((len(lens) + 1, width), SENTINEL, dtype=torch.int32)
    grid = (len(lens), -(-width // SCATTER_PASS))
    shape = {"PAGE_SIZE": page_size, "BLOCK_SIZE": SCATTER_PASS, "HAS_SWA": False}
    if source == "ragged":
        flat = torch.cat((*want, torch.full((64,), 10**9, dtype=torch.int32)))
        kv_indptr = torch.tensor([0, *accumulate(lens)], dtype=torch.int32)
        kernels.scatter_ragged_to_page_table_kernel[grid](
            flat, kv_indptr, pages, pages.stride(0), None, None, **shape
        )
    else:
        draft = 3 if source == "drafts" else 0
        committed = torch.tensor(lens) - draft
        kernels.scatter_req_to_token_to_page_table_kernel[grid](
            *(table, rows, committed, pages, table.stride(0), pages.stride(0)),
            *(None, None),
            DRAFT_NUM=draft,
            **shape,
        )
    require_pages(pages[:-1], want, page_size)
    assert set(pages[-1].tolist()) == {SENTINEL}


def test_row_copy_fills_every_live_entry_and_no_other() -> None:
    load_aiter_backend()
    copy = flat_kernels().create_flashmla_kv_indices_triton
    lens = [0, 1, *around(ROW_PASS), *around(2 * ROW_PASS)]
    table, rows = make_rows(lens, width=max(lens))
    width = max(lens)
    fenced = Fenced(len(lens) * width)
    copy[(len(lens), -(-width // ROW_PASS))](
        *(table, rows, torch.tensor(lens), None, fenced.buffer),
        *(table.stride(0), width, 1),
    )
    want = [table[row, :n] for row, n in zip(rows, lens, strict=True)]
    require_pages(fenced.buffer.view(len(lens), width), want, page_size=1)
    fenced.check_fences()
