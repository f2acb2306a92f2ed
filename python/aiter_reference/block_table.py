"""Two-dimensional page tables: one row of page ids per sequence."""

from __future__ import annotations

import torch

from aiter_reference.page_table import PageTable
from aiter_reference.validation import check_dtype, describe, require

LENGTH_DTYPES = (torch.int32, torch.int64)


def read_k_lens(kernel: str, name: str, lens: torch.Tensor) -> torch.Tensor:
    """Tokens per row, [rows] int64; the rows are as many as the entries."""
    check_dtype(kernel, name, lens, LENGTH_DTYPES)
    require(lens.ndim == 1 and lens.numel() > 0, kernel, name, "1-D, not empty", lens)
    require(int(lens.min()) >= 0, kernel, name, "at least 0", str(lens.tolist()))
    return lens.to(torch.int64)


def read_block_table(
    kernel: str,
    name: str,
    block_table: torch.Tensor,
    k_lens: torch.Tensor,
    first_keys: list[int],
    page_size: int,
    num_pages: int,
) -> PageTable:
    """The pages of every row, of which those with a key that is seen are checked.

    Args:
        name: of the argument that block_table is.
        block_table: [>= rows, W] int32 page ids. What lies behind the pages of a row's
            keys is never read, nor are rows behind the last.
        k_lens: [rows] int64 tokens.
        first_keys: per row the first key that any query sees.

    Raises:
        ValueError: another dtype or rank, too few rows, or a row of fewer pages than
            its keys: aiter would go on in the next row's pages.
        IndexError: a page with a visible key is not in the pool.
    """
    rows = k_lens.shape[0]
    check_dtype(kernel, name, block_table, (torch.int32,))
    require(
        block_table.ndim == 2 and block_table.shape[0] >= rows,
        kernel,
        name,
        f"[at least {rows} rows, pages]",
        block_table,
    )
    table = block_table[:rows].contiguous()
    width = table.shape[1]
    counts = (k_lens + page_size - 1) // page_size
    widest = int(counts.max())
    expected = (
        f"of at least {widest} pages a row, for {int(k_lens.max())} keys in pages"
    )
    require(widest <= width, kernel, name, f"{expected} of {page_size}", block_table)
    _check_pages(kernel, name, table, counts, first_keys, page_size, num_pages)
    return PageTable(
        kernel=kernel,
        entries=table.view(-1),
        starts=torch.arange(rows, device=table.device) * width,
        k_lens=k_lens,
        page_size=page_size,
        num_pages=num_pages,
    )


def _check_pages(
    kernel: str,
    name: str,
    table: torch.Tensor,
    counts: torch.Tensor,
    first_keys: list[int],
    page_size: int,
    num_pages: int,
) -> None:
    columns = torch.arange(table.shape[1], device=table.device)[None]
    first = torch.tensor(first_keys, device=table.device)[:, None] // page_size
    read = (columns >= first) & (columns < counts[:, None])
    wrong = (read & ((table < 0) | (table >= num_pages))).nonzero()
    if len(wrong):
        row, column = wrong[0].tolist()
        raise IndexError(
            f"{kernel}: {name} must be in [0, {num_pages}), the pages of the pool, got"
            f" {int(table[row, column])} at position {column} of row {row} of"
            f" {describe(table)}"
        )
