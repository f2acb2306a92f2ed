"""Which KV pool slots the ASM context-chunk prefill of the AMD backend gathers.

kv_indptr and kv_indices hold one entry per token at every page size. Read as one
entry per page they give the same slots at page size 1 and other tokens' slots above
it, without an error. Index arithmetic only, so a CPU is enough.
"""

import unittest
from collections.abc import Sequence
from typing import Any

import torch

from sglang.srt.layers.attention.aiter_backend import (
    _asm_context_prefill_gather_indices,
)
from sglang.test.ci.ci_register import register_amd_ci
from sglang.test.test_utils import CustomTestCase

register_amd_ci(est_time=10, suite="stage-b-test-1-gpu-small-amd")

BACKEND_LOGGER = "sglang.srt.layers.attention.aiter_backend"
PAGE_SIZES = (1, 16, 64)
# Long contexts of a chunked prefill; lengths that end inside a page, at its end, one
# before and one after, at 16 and at 64; rows of no and of one token among long ones.
BATCHES = (
    [40000, 900, 257],
    [3000],
    [1],
    [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129],
    [0, 70, 0, 0, 33, 1, 0],
)


def _paged_pool(
    seq_lens: Sequence[int], page_size: int, seed: int = 0
) -> tuple[list[list[int]], int]:
    """Token slots of each sequence in a pool whose pages are handed out shuffled.

    The last page and the first usable one go first, so that both ends of the pool hold
    live tokens; page 0 is reserved, as in a real pool.

    Returns (slots of each sequence, one per token; slots in the pool).
    """
    pages_of = [-(-n // page_size) for n in seq_lens]
    num_pages = 2 * sum(pages_of) + 3
    generator = torch.Generator().manual_seed(seed)
    shuffled = (torch.randperm(num_pages - 3, generator=generator) + 2).tolist()
    free = [num_pages - 1, 1, *shuffled]
    slots_of: list[list[int]] = []
    for n, pages in zip(seq_lens, pages_of, strict=True):
        taken, free = free[:pages], free[pages:]
        slots = [page * page_size + i for page in taken for i in range(page_size)]
        slots_of.append(slots[:n])
    return slots_of, num_pages * page_size


def _metadata(
    slots_of: Sequence[Sequence[int]],
    dtype: torch.dtype = torch.int32,
    pad: int = 0,
    pad_value: int = -1,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token-level (kv_indptr, kv_indices, seq_lens) as the prefill updater writes."""
    lens = [len(slots) for slots in slots_of]
    kv_indptr = torch.tensor([0, *lens]).cumsum(0).to(dtype)
    flat = [slot for slots in slots_of for slot in slots]
    kv_indices = torch.tensor(flat + [pad_value] * pad, dtype=dtype)
    return kv_indptr, kv_indices, torch.tensor(lens)


def _page_granular(
    kv_indptr: torch.Tensor,
    kv_indices: torch.Tensor,
    seq_lens: torch.Tensor,
    page_size: int,
) -> list[int]:
    """The slots that the faulty, page-granular reading of the same tables gives."""
    slots: list[int] = []
    for start, n in zip(kv_indptr[:-1].tolist(), seq_lens.tolist(), strict=True):
        for t in range(n):
            entry = int(kv_indices[start + t // page_size])
            slots.append(entry * page_size + t % page_size)
    return slots


class TestAsmPrefillGatherIndices(CustomTestCase):
    def _assert_gathers(self, gathered: Any, slots_of: Sequence[Sequence[int]]) -> None:
        self.assertIsNotNone(gathered, "valid metadata was refused")
        tok_idx, cu_k = gathered
        expected = [slot for slots in slots_of for slot in slots]
        lens = [len(slots) for slots in slots_of]
        self.assertEqual(tok_idx.dtype, torch.int64)
        self.assertEqual(cu_k.dtype, torch.int64)
        self.assertEqual(cu_k.tolist(), torch.tensor([0, *lens]).cumsum(0).tolist())
        self.assertEqual(len(tok_idx), len(expected))
        pairs = zip(tok_idx.tolist(), expected, strict=True)
        wrong = [(i, got, want) for i, (got, want) in enumerate(pairs) if got != want]
        self.assertFalse(
            wrong,
            f"{len(wrong)} of {len(expected)} slots differ; (position, got, want):"
            f" {wrong[:5]}",
        )

    def _gather(self, *args: Any) -> Any:
        """Gather indices that must come without a warning."""
        with self.assertNoLogs(BACKEND_LOGGER, "WARNING"):
            return _asm_context_prefill_gather_indices(*args)

    def _assert_falls_back(
        self,
        args: tuple[torch.Tensor, torch.Tensor, torch.Tensor, int],
        reason: str,
        value: int,
        limit: int,
        mode: str = "EXTEND",
    ) -> None:
        """One warning that names the reason, both numbers, the mode and the batch."""
        with self.assertLogs(BACKEND_LOGGER, "WARNING") as logs:
            gathered = _asm_context_prefill_gather_indices(*args, mode)
        self.assertIsNone(gathered, f"{reason}: expected a fall back, got {gathered}")
        self.assertEqual(len(logs.output), 1, logs.output)
        for part in (
            "[asm-context-prefill]",
            reason,
            f"value={value} ",
            f"limit={limit} ",
            f"mode={mode} ",
            f"bs={args[0].numel() - 1}",
        ):
            self.assertIn(part, logs.output[0])

    def test_gathers_each_tokens_own_slot(self) -> None:
        for page_size in PAGE_SIZES:
            for seq_lens in BATCHES:
                with self.subTest(page_size=page_size, seq_lens=seq_lens):
                    slots_of, num_slots = _paged_pool(seq_lens, page_size)
                    tables = _metadata(slots_of)
                    self._assert_gathers(self._gather(*tables, num_slots), slots_of)

    def test_page_granular_reading_would_be_seen(self) -> None:
        """The pools here tell the two readings apart, except at page size 1."""
        for page_size in PAGE_SIZES:
            slots_of, _ = _paged_pool([70, 33, 130], page_size)
            kv_indptr, kv_indices, seq_lens = _metadata(slots_of)
            faulty = _page_granular(kv_indptr, kv_indices, seq_lens, page_size)
            right = [slot for slots in slots_of for slot in slots]
            same = sum(a == b for a, b in zip(faulty, right, strict=True))
            with self.subTest(page_size=page_size):
                if page_size == 1:
                    self.assertEqual(same, len(right))
                else:
                    self.assertLess(same, len(right) // 4)

    def test_takes_both_index_dtypes_and_any_length_dtype(self) -> None:
        slots_of, num_slots = _paged_pool([70, 0, 33], 16)
        for table in (torch.int32, torch.int64):
            for length in (torch.int16, torch.int32, torch.int64):
                with self.subTest(table=table, length=length):
                    kv_indptr, kv_indices, seq_lens = _metadata(slots_of, table)
                    gathered = self._gather(
                        kv_indptr, kv_indices, seq_lens.to(length), num_slots
                    )
                    self._assert_gathers(gathered, slots_of)

    def test_never_reads_the_padded_tail(self) -> None:
        slots_of, num_slots = _paged_pool([70, 33], 64)
        for pad_value in (-1, num_slots, 2**31 - 1, 0):
            with self.subTest(pad_value=pad_value):
                tables = _metadata(slots_of, pad=256, pad_value=pad_value)
                self._assert_gathers(self._gather(*tables, num_slots), slots_of)

    def test_uses_the_last_slot_of_the_pool(self) -> None:
        tables = _metadata([[5, 9], [0, 3]])
        self._assert_gathers(self._gather(*tables, 10), [[5, 9], [0, 3]])

    def test_rows_may_start_anywhere_in_the_table(self) -> None:
        """kv_indptr is honoured, not rebuilt from the lengths."""
        kv_indptr = torch.tensor([2, 4, 4, 7])
        kv_indices = torch.tensor([90, 91, 7, 3, 5, 1, 9], dtype=torch.int32)
        gathered = self._gather(kv_indptr, kv_indices, torch.tensor([2, 0, 3]), 10)
        self._assert_gathers(gathered, [[7, 3], [], [5, 1, 9]])

    def test_empty_batch_and_batch_of_empty_rows(self) -> None:
        for bs in (0, 1, 3):
            with self.subTest(bs=bs):
                gathered = self._gather(
                    torch.zeros(bs + 1, dtype=torch.int32),
                    torch.zeros(0, dtype=torch.int32),
                    torch.zeros(bs, dtype=torch.int64),
                    8,
                )
                self._assert_gathers(gathered, [[]] * bs)

    def test_empty_row_past_the_table_reads_nothing(self) -> None:
        kv_indptr = torch.tensor([0, 2, 9])
        kv_indices = torch.tensor([4, 6])
        gathered = self._gather(kv_indptr, kv_indices, torch.tensor([2, 0]), 8)
        self._assert_gathers(gathered, [[4, 6], []])

    def test_shorter_lengths_are_honoured(self) -> None:
        slots_of, num_slots = _paged_pool([70, 33], 16)
        kv_indptr, kv_indices, _ = _metadata(slots_of)
        gathered = self._gather(kv_indptr, kv_indices, torch.tensor([17, 1]), num_slots)
        self._assert_gathers(gathered, [slots_of[0][:17], slots_of[1][:1]])

    def test_longer_lengths_are_cut_to_the_row_with_a_warning(self) -> None:
        for page_size in PAGE_SIZES:
            slots_of, num_slots = _paged_pool([512, 512], page_size)
            kv_indptr, kv_indices, seq_lens = _metadata(slots_of)
            longer = seq_lens + torch.tensor([0, 128])
            with (
                self.subTest(page_size=page_size),
                self.assertLogs(BACKEND_LOGGER, "WARNING") as logs,
            ):
                gathered = _asm_context_prefill_gather_indices(
                    kv_indptr, kv_indices, longer, num_slots, "MIXED"
                )
            self._assert_gathers(gathered, slots_of)
            self.assertEqual(len(logs.output), 1, logs.output)
            for part in ("cut", "128 tokens", "mode=MIXED", "bs=2"):
                self.assertIn(part, logs.output[0])

    def test_falls_back_when_the_table_is_too_short(self) -> None:
        slots_of, num_slots = _paged_pool([512, 512], 64)
        kv_indptr, kv_indices, seq_lens = _metadata(slots_of)
        args = (kv_indptr, kv_indices[:-1], seq_lens, num_slots)
        self._assert_falls_back(args, "row_past_table", 1024, 1023)

    def test_falls_back_when_a_slot_is_past_the_pool(self) -> None:
        for position in (0, 1, 2):
            slots = [3, 1, 2]
            slots[position] = 8
            with self.subTest(position=position):
                args = (*_metadata([slots[:1], slots[1:]]), 8)
                self._assert_falls_back(args, "slot_past_pool", 8, 8)

    def test_falls_back_when_a_slot_is_negative(self) -> None:
        """A -1 would wrap around to the last slot of the pool, which is live."""
        for position in (0, 1, 2):
            slots = [3, 1, 2]
            slots[position] = -1
            with self.subTest(position=position):
                args = (*_metadata([slots[:1], slots[1:]]), 8)
                self._assert_falls_back(args, "negative_slot", -1, 0)

    def test_falls_back_when_kv_indptr_decreases(self) -> None:
        args = (torch.tensor([0, 3, 1]), torch.arange(4), torch.tensor([1, 1]), 8)
        self._assert_falls_back(args, "decreasing_kv_indptr", -2, 0)

    def test_falls_back_when_kv_indptr_starts_below_zero(self) -> None:
        args = (torch.tensor([-1, 2]), torch.arange(4), torch.tensor([1]), 8)
        self._assert_falls_back(args, "negative_kv_indptr", -1, 0)

    def test_falls_back_when_a_length_is_negative(self) -> None:
        args = (torch.tensor([0, 2, 4]), torch.arange(4), torch.tensor([2, -3]), 8)
        self._assert_falls_back(args, "negative_seq_len", -3, 0)

    def test_falls_back_when_the_batch_sizes_disagree(self) -> None:
        for lens in ([1], [1, 1, 1]):
            with self.subTest(lens=lens):
                args = (
                    torch.tensor([0, 1, 2]),
                    torch.arange(4),
                    torch.tensor(lens),
                    8,
                )
                self._assert_falls_back(args, "batch_size_mismatch", len(lens), 2)


if __name__ == "__main__":
    unittest.main()
