"""Every KV table of the plain attention path: its unit, who writes it, who reads it.

`python -m producers.contract` prints the table as Markdown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import torch

SLOT = "token slot"
PAGE = "page id"
TOKENS = "offset in tokens"
PAGES = "offset in pages"
COUNT = "count of tokens"
FULL, WINDOW_POOL, NONE = "full", "window", "none"
ANY = "any"


@dataclass(frozen=True)
class Table:
    """One table of the metadata.

    Attributes:
        unit: what one entry is.
        pool: whose slots or pages its entries are.
        live: how many entries count, or how many of each row.
        tail: what stands behind the live entries.
        page_size: page sizes at which the table is made.
    """

    name: str
    producer: str
    consumer: str
    unit: str
    dtype: str
    pool: str
    live: str
    tail: str
    page_size: str = ANY

    def check(
        self,
        values: torch.Tensor,
        live: int | Sequence[int],
        *,
        page_size: int,
        num_slots: int,
        total: int | None = None,
    ) -> None:
        """Fail unless the live entries are what the declaration says.

        Args:
            values: the table; 2-D with one row for each sequence, else 1-D.
            live: live entries, of each row if 2-D.
            num_slots: slots of the pool; those of page 0 are never handed out.
            total: the last of the offsets, in the table's unit.
        """
        allowed = [f"torch.{name}" for name in self.dtype.split(" or ")]
        assert str(values.dtype) in allowed, (self.name, values.dtype)
        counts = [live] if isinstance(live, int) else live
        rows = values[None] if values.ndim == 1 else values
        for row, count in zip(rows, counts, strict=True):
            entries = row[:count].tolist()
            assert len(entries) == count, (self.name, len(entries), count)
            self._check_entries(entries, page_size, num_slots, total)

    def _check_entries(
        self, entries: list[int], page_size: int, num_slots: int, total: int | None
    ) -> None:
        if self.unit in (TOKENS, PAGES):
            assert entries[0] == 0 and entries[-1] == total, (self.name, entries, total)
            assert all(a <= b for a, b in pairwise(entries)), (self.name, entries)
            return
        low, high = {
            SLOT: (page_size, num_slots),
            PAGE: (1, num_slots // page_size),
            COUNT: (1, page_size + 1),
        }[self.unit]
        outside = [entry for entry in entries if not low <= entry < high]
        assert not outside, f"{self.name}: {outside[:4]} outside [{low}, {high})"


REQ_TO_TOKEN = Table(
    name="req_to_token",
    producer="alloc_for_extend, alloc_for_decode",
    consumer="every index producer",
    unit=SLOT,
    dtype="int32",
    pool=FULL,
    live="tokens of the request, in each row",
    tail="whatever the row's last request left",
)
KV_INDPTR = Table(
    name="kv_indptr",
    producer="AiterIndicesUpdaterPrefill",
    consumer="_asm_context_prefill_indices, mha_batch_prefill_func",
    unit=TOKENS,
    dtype="int32",
    pool=NONE,
    live="bs + 1",
    tail="an earlier, larger batch's: the buffer is shared",
)
KV_INDICES = Table(
    name="kv_indices",
    producer="create_flashinfer_kv_indices_triton",
    consumer="_asm_context_prefill_indices, mha_batch_prefill_func",
    unit=SLOT,
    dtype="int32",
    pool=FULL,
    live="sum of seq_lens",
    tail="256 copies of the first entry, read ahead by the CK kernel",
)
QO_INDPTR = Table(
    name="qo_indptr",
    producer="AiterIndicesUpdaterPrefill",
    consumer="flash_attn_varlen_fp8_pertensor_func, mha_batch_prefill_func",
    unit=TOKENS,
    dtype="int32",
    pool=NONE,
    live="bs + 1, of the new tokens",
    tail="none",
)
TOK_IDX = Table(
    name="asm_ctx_tok_idx",
    producer="_asm_context_prefill_indices",
    consumer="gather_kv",
    unit=SLOT,
    dtype="int32 or int64",
    pool=FULL,
    live="cu_k[-1]: all of it",
    tail="none",
)
CU_K = Table(
    name="asm_ctx_cu_k",
    producer="_asm_context_prefill_indices",
    consumer="flash_attn_varlen_fp8_pertensor_func",
    unit=TOKENS,
    dtype="int32",
    pool=NONE,
    live="bs + 1",
    tail="none",
)
VIEW_INDPTR = Table(
    name="paged_kv_view[0]",
    producer="_build_paged_kv_view",
    consumer="mha_batch_prefill_func",
    unit=PAGES,
    dtype="int32",
    pool=NONE,
    live="bs + 1",
    tail="none",
    page_size="64",
)
VIEW_PAGES = Table(
    name="paged_kv_view[1]",
    producer="_build_paged_kv_view",
    consumer="mha_batch_prefill_func",
    unit=PAGE,
    dtype="int32",
    pool=FULL,
    live="sum of ceil(seq_len / 64)",
    tail="none",
    page_size="64",
)
VIEW_LAST_LENS = Table(
    name="paged_kv_view[2]",
    producer="_build_paged_kv_view",
    consumer="mha_batch_prefill_func",
    unit=COUNT,
    dtype="int32",
    pool=NONE,
    live="bs; 64 for a sequence of no token",
    tail="none",
    page_size="64",
)
WINDOW_INDICES = Table(
    name="swa_page_table (extend)",
    producer="init_forward_metadata",
    consumer="mha_batch_prefill_func",
    unit=SLOT,
    dtype="int32",
    pool=WINDOW_POOL,
    live="sum of seq_lens: slots, despite the name",
    tail="256 copies of the first entry",
)
DECODE_INDPTR = Table(
    name="kv_indptr (decode)",
    producer="init_forward_metadata, _apply_cuda_graph_metadata",
    consumer="paged_attention_ragged",
    unit=TOKENS,
    dtype="int32",
    pool=NONE,
    live="bs + 1",
    tail="none",
)
DECODE_INDICES = Table(
    name="kv_indices (decode)",
    producer="create_flashinfer_kv_indices_triton",
    consumer="paged_attention_ragged, at block size 1",
    unit=SLOT,
    dtype="int32",
    pool=FULL,
    live="sum of seq_lens",
    tail="an earlier, larger batch's: the buffer is reused",
)
GRAPH_INDICES = Table(
    name="cuda_graph_kv_indices",
    producer="create_flashinfer_kv_indices_triton, into the graph's buffer",
    consumer="paged_attention_ragged, at block size 1",
    unit=SLOT,
    dtype="int32",
    pool=FULL,
    live="sum of seq_lens; room for max_bs * (context_len + draft tokens)",
    tail="an earlier batch's",
)
PAGE_TABLE = Table(
    name="page table (decode, extend, speculative)",
    producer="_transform_table_1_to_real, the scatter kernels",
    consumer="unified_attention",
    unit=PAGE,
    dtype="int32",
    pool=FULL,
    live="ceil(seq_len / page_size), in each row",
    tail="page 0, or an earlier batch's",
    page_size="above 1; at 1 a page is a slot",
)
WINDOW_PAGE_TABLE = Table(
    name="swa_page_table (decode, extend, speculative)",
    producer="the same, from full_to_swa_index_mapping",
    consumer="unified_attention, in layers with a window",
    unit=PAGE,
    dtype="int32",
    pool=WINDOW_POOL,
    live="ceil(seq_len / page_size), in each row",
    tail="page 0, or an earlier batch's",
    page_size="above 1; at 1 a page is a slot",
)

TABLES = tuple(table for table in list(globals().values()) if isinstance(table, Table))


def markdown() -> str:
    """All tables, one a line."""
    names = [field.name for field in fields(Table)]
    lines = [names, ["---"] * len(names)]
    for table in TABLES:
        lines.append([str(getattr(table, name)) for name in names])
    return "\n".join(
        "| " + " | ".join(_heading(cell) for cell in line) + " |" for line in lines
    )


def _heading(cell: str) -> str:
    return {"page_size": "page size"}.get(cell, cell)


if __name__ == "__main__":
    print(markdown())
