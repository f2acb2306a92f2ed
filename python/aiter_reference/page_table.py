"""The paged pool of K and V: which slot a token is in, and reading it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from aiter_reference.fp8 import widen


@dataclass(frozen=True)
class PageTable:
    """The page ids of every row, flat, at any page size; page_size 1 makes them slots.

    Token t of a row is in slot entries[starts[row] + t // page_size] * page_size
    + t % page_size.

    Attributes:
        entries: [n] int32 page ids; what follows the last row is never read.
        starts: [rows] int64, a row's first entry.
        k_lens: [rows] int64, a row's length in tokens.
        num_pages: pages in the pool.
    """

    kernel: str
    entries: torch.Tensor
    starts: torch.Tensor
    k_lens: torch.Tensor
    page_size: int
    num_pages: int

    def slots(self, rows: torch.Tensor, first: int, end: int) -> torch.Tensor:
        """Slots of the tokens [first, end) of each row: [len(rows), end - first] int64.

        A token beyond its row's length gets the slot of the row's token `first`, which
        is readable, so that padding never touches what is not the row's. Every row
        must have more than `first` tokens.

        Raises:
            IndexError: an entry that is read is not a page of the pool.
        """
        tokens = torch.arange(first, end, device=self.entries.device)[None]
        tokens = torch.where(tokens < self.k_lens[rows][:, None], tokens, first)
        pages = self.entries[self.starts[rows][:, None] + tokens // self.page_size]
        pages = pages.to(torch.int64)
        self._check(pages, rows, tokens)
        return pages * self.page_size + tokens % self.page_size

    def _check(
        self, pages: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor
    ) -> None:
        lowest, highest = torch.aminmax(pages)
        if int(lowest) >= 0 and int(highest) < self.num_pages:
            return
        outside = ((pages < 0) | (pages >= self.num_pages)).nonzero()[0].tolist()
        at = tuple(outside)
        raise IndexError(
            f"{self.kernel}: kv_page_indices must be in [0, {self.num_pages}), the"
            f" {self.num_pages} pages of {self.page_size} tokens of the pool, got"
            f" {int(pages[at])} at position {int(tokens[at]) // self.page_size} of"
            f" row {int(rows[outside[0]])}"
        )


def as_slots(pool: torch.Tensor) -> torch.Tensor:
    """[N, page, Hk, D] as [N * page, Hk, D]; a pool of slots stays as it is."""
    return pool.flatten(0, 1) if pool.ndim == 4 else pool


def read_slots(pool: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """Rows of a pool, head-major and wide.

    Args:
        pool: [N, Hk, D], any float dtype, D a multiple of 8 bytes; one whose heads are
            not side by side is copied whole.
        slots: [rows, n] int64.

    Returns:
        [rows, Hk, n, D] float32.
    """
    # As 8-byte words: torch's index_select does not know fp8 and is slow on bytes. By
    # head: the matrix products were 5x slower on strided heads.
    words = pool.view(torch.int64)
    heads = torch.arange(words.shape[1], device=pool.device)
    at = slots[:, None] * words.shape[1] + heads[:, None]
    picked = words.flatten(0, 1).index_select(0, at.flatten())
    return widen(picked.view(*at.shape, -1).view(pool.dtype))


def read_range(packed: torch.Tensor, start: int, end: int) -> torch.Tensor:
    """Rows [start, end) of [N, Hk, D]: [1, Hk, end - start, D] float32."""
    words = packed.view(torch.int64)[None, start:end]
    # Turned while still narrow.
    return widen(words.transpose(1, 2).contiguous().view(packed.dtype))
