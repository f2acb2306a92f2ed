"""Arbitrary batches over arbitrary pools, and the tables that describe them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from logging import Handler, LogRecord
from typing import Any

import torch
from hypothesis import strategies as st

INDEX_DTYPES = (torch.int32, torch.int64)
LENGTH_DTYPES = (
    *(torch.int16, torch.int32, torch.int64),
    *(torch.uint16, torch.uint32, torch.uint64),
)
MAX_LEN = 80
HOSTILE = (-1, 2**31 - 1, -(2**31))


@dataclass(frozen=True)
class Batch:
    """Tables as the prefill updater writes them.

    Attributes:
        slots_of: the slot of every token of each sequence.
        kv_indices: the same, flat, and a padded tail behind.
    """

    page_size: int
    num_slots: int
    slots_of: list[list[int]]
    kv_indptr: torch.Tensor
    kv_indices: torch.Tensor
    seq_lens: torch.Tensor

    @property
    def lens(self) -> list[int]:
        return [len(slots) for slots in self.slots_of]

    @property
    def slots(self) -> list[int]:
        return [slot for slots in self.slots_of for slot in slots]


@st.composite
def batches(
    draw: st.DrawFn,
    *,
    min_rows: int = 0,
    page_sizes: st.SearchStrategy[int] | None = None,
) -> Batch:
    """Shuffled pages from any stretch of the pool, page 0 left out.

    Lengths of 0 and 1 and around pages; both index dtypes; tails of live, negative and
    out-of-pool entries.
    """
    page_size = draw(st.integers(1, 256) if page_sizes is None else page_sizes)
    edges = [n for k in (1, 2) for n in (k * page_size - 1, k * page_size)]
    near = st.sampled_from([n for n in edges if n <= 2 * MAX_LEN] or [1])
    length = st.one_of(st.integers(0, MAX_LEN), near, near.map(lambda n: n + 1))
    lens = draw(st.lists(length, min_size=min_rows, max_size=6))
    pages_of = [-(-n // page_size) for n in lens]
    spare = draw(st.integers(0, 5))
    first = draw(st.one_of(st.just(1), st.integers(1, 2**31 // page_size - 600)))
    order = list(range(first, first + sum(pages_of) + spare))
    draw(st.randoms(use_true_random=False)).shuffle(order)
    pages = iter(order)
    slots_of = []
    for n, count in zip(lens, pages_of, strict=True):
        mine = [next(pages) for _ in range(count)]
        slots = [page * page_size + i for page in mine for i in range(page_size)]
        slots_of.append(slots[:n])
    num_slots = (first + len(order)) * page_size
    flat = [slot for slots in slots_of for slot in slots]
    tail = draw(st.lists(st.sampled_from((*HOSTILE, *flat[:1], 0)), max_size=5))
    dtype = draw(st.sampled_from(INDEX_DTYPES))
    return Batch(
        page_size=page_size,
        num_slots=num_slots,
        slots_of=slots_of,
        kv_indptr=torch.tensor([0, *accumulate(lens)], dtype=dtype),
        kv_indices=torch.tensor(flat + tail, dtype=dtype),
        seq_lens=torch.tensor(lens, dtype=draw(st.sampled_from(LENGTH_DTYPES))),
    )


class _Keeper(Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def warnings_of(module: Any) -> Iterator[list[str]]:
    """The messages that the module logs inside the block."""
    keeper = _Keeper()
    module.logger.addHandler(keeper)
    try:
        yield keeper.messages
    finally:
        module.logger.removeHandler(keeper)
