"""Readers of the arguments that several kernels have in common."""

from __future__ import annotations

from itertools import pairwise

import torch

from aiter_reference.page_table import PageTable
from aiter_reference.validation import check_dtype, read_offsets, require


def read_descale(
    kernel: str, name: str, descale: torch.Tensor, rows: int, kv_heads: int
) -> torch.Tensor:
    """A descale as [rows, kv_heads] float32: one element or one per row and head."""
    check_dtype(kernel, name, descale, (torch.float32,))
    if descale.numel() == 1:
        return descale.reshape(1, 1).expand(rows, kv_heads)
    require(
        tuple(descale.shape) == (rows, kv_heads),
        kernel,
        name,
        f"of one element or of shape {(rows, kv_heads)}",
        descale,
    )
    return descale


def read_sinks(
    kernel: str, name: str, sinks: torch.Tensor | None, q_heads: int
) -> torch.Tensor | None:
    """Sinks as [q_heads] float32."""
    if sinks is None:
        return None
    require(
        tuple(sinks.shape) == (q_heads,), kernel, name, f"of shape {(q_heads,)}", sinks
    )
    return sinks.float()


def read_query_offsets(
    kernel: str, cu_seqlens_q: torch.Tensor, q: torch.Tensor, max_seqlen_q: int
) -> list[int]:
    """Row offsets into the tokens of q, of which a padded tail may belong to no row."""
    rows = cu_seqlens_q.numel() - 1
    require(rows > 0, kernel, "cu_seqlens_q", "of at least 2 entries", cu_seqlens_q)
    starts = read_offsets(kernel, "cu_seqlens_q", cu_seqlens_q, rows, q.shape[0])
    require(starts[0] == 0, kernel, "cu_seqlens_q", "0 at first", starts)
    longest = max(end - start for start, end in pairwise(starts))
    # aiter sizes its grid by this number and would leave the rest unwritten.
    require(
        longest <= max_seqlen_q,
        kernel,
        "max_seqlen_q",
        f"at least {longest}, the longest row of cu_seqlens_q",
        max_seqlen_q,
    )
    return starts


def read_page_table(
    kernel: str,
    rows: int,
    kv_indptr: torch.Tensor,
    kv_page_indices: torch.Tensor,
    kv_last_page_lens: torch.Tensor | None,
    page_size: int,
    num_pages: int,
) -> PageTable:
    """The table of the first `rows` rows; kv_indptr counts entries of kv_page_indices.

    Raises:
        ValueError: a table is not int32 (aiter would misread int64 in silence), the
            offsets are inconsistent, or a last page is empty or longer than a page.
    """
    check_dtype(kernel, "kv_page_indices", kv_page_indices, (torch.int32,))
    require(
        kv_page_indices.ndim == 1 and kv_page_indices.is_contiguous(),
        kernel,
        "kv_page_indices",
        "1-D and contiguous",
        kv_page_indices,
    )
    read_offsets(kernel, "kv_indptr", kv_indptr, rows, kv_page_indices.shape[0])
    starts = kv_indptr[: rows + 1].to(torch.int64)
    pages = starts.diff()
    last = _read_last_page_lens(kernel, kv_last_page_lens, pages, page_size)
    return PageTable(
        kernel=kernel,
        entries=kv_page_indices,
        starts=starts[:-1],
        k_lens=((pages - 1) * page_size + last) * (pages > 0),
        page_size=page_size,
        num_pages=num_pages,
    )


def _read_last_page_lens(
    kernel: str, lens: torch.Tensor | None, pages: torch.Tensor, page_size: int
) -> torch.Tensor:
    """Tokens in the last page of each row; a row without pages may say anything."""
    name = "kv_last_page_lens"
    if lens is None:
        require(page_size == 1, kernel, name, f"given at page size {page_size}", None)
        return torch.ones_like(pages)
    check_dtype(kernel, name, lens, (torch.int32,))
    rows = pages.shape[0]
    require(
        lens.ndim == 1 and lens.shape[0] >= rows,
        kernel,
        name,
        f"1-D with at least {rows} entries",
        lens,
    )
    last = lens[:rows].to(torch.int64)
    wrong = (pages > 0) & ((last < 1) | (last > page_size))
    require(
        not bool(wrong.any()), kernel, name, f"in [1, {page_size}]", str(last.tolist())
    )
    return last
