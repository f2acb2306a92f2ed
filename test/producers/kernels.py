"""In place of aiter's kernels: what a kernel would read, by the kernel's contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unittest import mock

import torch

from aiter_reference.page_table import PageTable, as_slots
from producers.platform import load_aiter_backend
from producers.signatures import K, V, make_rows, require_rows


@dataclass(frozen=True)
class Reading:
    """K and V rows that one call would attend to.

    Attributes:
        k, v: for each sequence [keys, heads, dim], in the order of the keys.
        query_lens: queries of each sequence.
    """

    kernel: str
    k: list[torch.Tensor]
    v: list[torch.Tensor]
    query_lens: list[int]


GATHERED = "flash_attn_varlen_fp8_pertensor_func"
PAGED = "mha_batch_prefill_func"
DECODE = "paged_attention_ragged"
UNIFIED = "unified_attention"


class Recorder:
    """Kernels of `aiter_backend` that keep what they would read and return zeros."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def flash_attn_varlen_fp8_pertensor_func(
        self, q: Any, k: Any, v: Any, *rest: Any, **kwargs: Any
    ) -> torch.Tensor:
        cu_q, cu_k = (offsets.tolist() for offsets in rest[3:5])
        k_rows, v_rows = ([pool[a:b] for a, b in pairwise(cu_k)] for pool in (k, v))
        self._keep(GATHERED, k_rows, v_rows, _lens(cu_q))
        return torch.zeros(q.shape, dtype=torch.bfloat16)

    def mha_batch_prefill_func(
        self, q: Any, k: Any, v: Any, *rest: Any, **kwargs: Any
    ) -> torch.Tensor:
        cu_q, kv_indptr, entries = rest[:3]
        page_size = k.shape[1] if k.ndim == 4 else 1
        counts = kv_indptr[1:] - kv_indptr[:-1]
        last = kwargs.get("kv_last_page_lens", torch.ones_like(counts))
        k_lens = (counts - 1) * page_size + last
        table = _table(entries, kv_indptr[:-1], k_lens, page_size, k)
        self._keep(PAGED, *_read(table, k, v), _lens(cu_q.tolist()))
        return torch.zeros(q.shape, dtype=torch.bfloat16)

    def paged_attention_ragged(self, out: Any, *rest: Any) -> None:
        _, q, k, v, _, kv_indptr, entries, last_page_lens, page_size = rest[:9]
        rows = q.shape[0]
        counts = kv_indptr[1 : rows + 1] - kv_indptr[:rows]
        k_lens = (counts - 1) * page_size + last_page_lens[:rows]
        table = _table(entries, kv_indptr[:rows], k_lens, page_size, k)
        self._keep(DECODE, *_read(table, k, v), [1] * rows)

    def unified_attention(self, **arguments: Any) -> None:
        pages, k_lens = arguments["block_table"], arguments["seqused_k"]
        k, v = arguments["k"], arguments["v"]
        starts = torch.arange(len(k_lens)) * pages.stride(0)
        table = _table(pages.flatten(), starts, k_lens, k.shape[1], k)
        cu_q = arguments["cu_seqlens_q"][: len(k_lens) + 1].tolist()
        self._keep(UNIFIED, *_read(table, k, v), _lens(cu_q))

    def _keep(self, kernel: str, k: Any, v: Any, query_lens: list[int]) -> None:
        self.readings.append(Reading(kernel, k, v, query_lens))


@contextmanager
def record_kernels() -> Iterator[list[Reading]]:
    """The readings of every kernel call inside the block, in order."""
    recorder = Recorder()
    names = [name for name in vars(Recorder) if not name.startswith("_")]
    with mock.patch.multiple(
        load_aiter_backend(), **{name: getattr(recorder, name) for name in names}
    ):
        yield recorder.readings


def require_reading(
    reading: Reading, kernel: str, owners: Sequence[int], lens: Sequence[int]
) -> None:
    """Fail unless `kernel` read the first lens[i] tokens of owners[i], in order."""
    assert reading.kernel == kernel
    assert len(reading.k) == len(reading.v) == len(owners)
    for i, (owner, n) in enumerate(zip(owners, lens, strict=True)):
        require_rows(reading.k[i], make_rows(K, [owner], [0], [n]))
        require_rows(reading.v[i], make_rows(V, [owner], [0], [n]))


def _lens(offsets: list[int]) -> list[int]:
    return [b - a for a, b in pairwise(offsets)]


def _table(
    entries: Any, starts: Any, k_lens: Any, page_size: int, pool: Any
) -> PageTable:
    return PageTable(
        kernel="recorded",
        entries=entries,
        starts=starts.long(),
        k_lens=k_lens.long(),
        page_size=page_size,
        num_pages=pool.shape[0],
    )


def _read(table: PageTable, k: Any, v: Any) -> tuple[list[Any], list[Any]]:
    slots = [
        table.slots(torch.tensor([row]), 0, n).flatten() if n > 0 else torch.zeros(0)
        for row, n in enumerate(table.k_lens.tolist())
    ]
    reads = []
    for pool in (k, v):
        rows = as_slots(pool).view(torch.uint8)
        reads.append([rows[s.long()].view(pool.dtype) for s in slots])
    return reads[0], reads[1]
