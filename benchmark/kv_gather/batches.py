"""Pools, slots and batch metadata, as SGLang lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import torch

# K and V heads and head_dim of one rank, fp8: row bytes = heads * dim. head_dim 256
# is Qwen3.5's and Qwen3.8's; eight heads down to one are TP 1 to 8 of such a model.
WIDTHS = {128: (1, 128), 256: (1, 256), 512: (2, 256), 1024: (4, 256), 2048: (8, 256)}
LAYOUTS = ("page 1", "page 16", "page 64", "contiguous")


@dataclass(frozen=True)
class Pool:
    """K and V of one layer, [slots, heads, dim] fp8."""

    k: torch.Tensor
    v: torch.Tensor

    @property
    def slots(self) -> int:
        """Tokens that the pool holds."""
        return self.k.shape[0]


def make_pool(row_bytes: int, slots: int) -> Pool:
    """A pool of random bytes, NaN patterns included."""
    heads, dim = WIDTHS[row_bytes]

    def rows() -> torch.Tensor:
        words = torch.empty(slots * row_bytes // 8, dtype=torch.int64, device="cuda")
        words.random_()
        return words.view(torch.float8_e4m3fn).view(slots, heads, dim)

    return Pool(rows(), rows())


def shuffled_slots(slots: int, layout: str) -> torch.Tensor:
    """Every slot of a pool once, page by page in random order; int32."""
    page = slots if layout == "contiguous" else int(layout.removeprefix("page "))
    firsts = torch.randperm(slots // page, device="cuda") * page
    inside = torch.arange(page, device="cuda")
    return (firsts[:, None] + inside).flatten().to(torch.int32)


def ragged_lengths(total: int, batch_size: int) -> list[int]:
    """`batch_size` different lengths that sum to `total`."""
    weights = [2 + i % 5 for i in range(batch_size)]
    lengths = [total * w // sum(weights) for w in weights]
    lengths[-1] += total - sum(lengths)
    return lengths


@dataclass(frozen=True)
class Batch:
    """One extend batch: the metadata that the index producers of SGLang write."""

    kv_indptr: torch.Tensor
    kv_indices: torch.Tensor
    forward_batch: SimpleNamespace
    batch_size: int

    def metadata(self) -> SimpleNamespace:
        """A new batch's forward_metadata, nothing computed yet."""
        return SimpleNamespace(
            kv_indptr=self.kv_indptr,
            kv_indices=self.kv_indices,
            asm_ctx_ready=False,
            asm_ctx_tok_idx=None,
            asm_ctx_cu_k=None,
        )


def make_batch(slots: torch.Tensor, lengths: list[int]) -> Batch:
    """A batch whose tokens lie in `slots`, in order; int32 as SGLang writes them."""
    lens = torch.tensor(lengths)
    indptr = torch.zeros(len(lengths) + 1, dtype=torch.int32)
    indptr[1:] = lens.cumsum(0)
    forward_batch = SimpleNamespace(
        spec_info=None,
        forward_mode=SimpleNamespace(is_extend=lambda: True),
        seq_lens=lens.cuda(),
        seq_lens_cpu=lens,
    )
    return Batch(indptr.cuda(), slots, forward_batch, len(lengths))
