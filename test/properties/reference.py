"""The helper's contract as loops over plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise


@dataclass(frozen=True)
class Refused:
    """The paged kernel serves the batch: why, the value found, and its limit.

    `excess` is how far lengths had been cut before a slot was found at fault.
    """

    reason: str
    value: int
    limit: int
    excess: int = 0


@dataclass(frozen=True)
class Gathered:
    """Slots of all tokens, offsets of the sequences, and how far lengths were cut."""

    slots: list[int]
    cu_k: list[int]
    excess: int


def gather_indices(
    kv_indptr: Sequence[int],
    table: Sequence[int],
    seq_lens: Sequence[int],
    num_kv_slots: int,
) -> Gathered | Refused:
    """Token t of sequence i is in slot table[kv_indptr[i] + t]."""
    bs = len(kv_indptr) - 1
    if len(seq_lens) != bs:
        return Refused("batch_size_mismatch", len(seq_lens), bs)
    if bs == 0:
        return Gathered([], [0], 0)
    rows = [end - start for start, end in pairwise(kv_indptr)]
    if kv_indptr[0] < 0:
        return Refused("negative_kv_indptr", kv_indptr[0], 0)
    if min(rows) < 0:
        return Refused("decreasing_kv_indptr", min(rows), 0)
    if min(seq_lens) < 0:
        return Refused("negative_seq_len", min(seq_lens), 0)
    lens = [min(pair) for pair in zip(seq_lens, rows, strict=True)]
    starts = kv_indptr[:-1]
    ends = [start + n for start, n in zip(starts, lens, strict=True) if n]
    if max(ends, default=0) > len(table):
        return Refused("row_past_table", max(ends), len(table))
    slots = [
        table[start + t]
        for start, n in zip(starts, lens, strict=True)
        for t in range(n)
    ]
    excess = max(0, *(n - row for n, row in zip(seq_lens, rows, strict=True)))
    if min(slots, default=0) < 0:
        return Refused("negative_slot", min(slots), 0, excess)
    if max(slots, default=-1) >= num_kv_slots:
        return Refused("slot_past_pool", max(slots), num_kv_slots, excess)
    return Gathered(slots, [0, *accumulate(lens)], excess)


def page_view(
    slots_of: Sequence[Sequence[int]], page_size: int
) -> tuple[list[int], list[int], list[int]]:
    """(page offsets, page ids, tokens in the last page) of sequences in whole pages."""
    pages = [[slot // page_size for slot in slots[::page_size]] for slots in slots_of]
    last = [(len(slots) - 1) % page_size + 1 for slots in slots_of]
    return [0, *accumulate(map(len, pages))], sum(pages, []), last
