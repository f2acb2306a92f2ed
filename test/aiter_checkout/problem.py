"""The tensors of a case, stored as the kernel reads them and wide as they are meant.

A reference gets the wide ones: float32 copies of the stored values with the descales in
them, exact, for the descales are powers of two. So nothing that a reference rounds to
bfloat16 or float16 on its way is between it and the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from aiter_checkout.cases import Case
from aiter_reference.inputs import PagedInputs, Shape, make_paged_inputs

Row = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Q [q_len, Hq, D], K [k_len, Hk, D] and V [k_len, Hk, Dv] of a row, float32."""

DESCALES = (2.0, 0.5, 0.25)
"""Of Q, K and V, each another one."""


@dataclass(frozen=True)
class Problem:
    """A case with its random tensors, over a pool that is NaN but for the rows' keys.

    Attributes:
        inputs: tables and pools; V is cut to the case's value_dim by `v_pool`.
    """

    case: Case
    inputs: PagedInputs

    @classmethod
    def make(cls, case: Case) -> Problem:
        shape = Shape(
            case.q_lens, case.k_lens, *case.heads, case.head_dim, dtype=case.dtype
        )
        cache = case.cache or case.dtype
        return cls(case, make_paged_inputs(case.seed, shape, case.page_size, cache))

    @property
    def k_pool(self) -> torch.Tensor:
        """[slots, Hk, D], stored."""
        return self.inputs.k_pool

    @property
    def v_pool(self) -> torch.Tensor:
        """[slots, Hk, Dv], stored."""
        return self.inputs.v_pool[..., : self.case.value_dim].contiguous()

    @cached_property
    def sinks(self) -> torch.Tensor | None:
        """[Hq] float32, one for every head."""
        if not self.case.sinks:
            return None
        generator = torch.Generator().manual_seed(self.case.seed + 1)
        return 2 * torch.randn(self.case.heads[0], generator=generator)

    @cached_property
    def descales(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of Q, K and V: [1] or [rows, Hk] float32."""
        rows, kv_heads = len(self.case.k_lens), self.case.heads[1]
        if self.case.scales == "one":
            return torch.ones(1), torch.ones(1), torch.ones(1)
        q, k, v = (torch.tensor([value]) for value in DESCALES)
        if self.case.scales == "tensor":
            return q, k, v
        powers = 2.0 ** (torch.arange(rows * kv_heads).view(rows, kv_heads) % 3)
        return q / powers, k * powers, v * powers

    @property
    def q_wide(self) -> torch.Tensor:
        """[query tokens, Hq, D] float32, with descale and scale_factor."""
        descale = self._by_row(0, self.case.heads[0])
        by_token = torch.repeat_interleave(descale, torch.tensor(self.case.q_lens), 0)
        scaled = self.inputs.q.float() * by_token[..., None]
        return scaled * self.case.scale_factor

    @property
    def k_pool_wide(self) -> torch.Tensor:
        """[slots, Hk, D] float32, with the descale of a tensor."""
        return self.k_pool.float() * self.descales[1]

    @property
    def v_pool_wide(self) -> torch.Tensor:
        """[slots, Hk, Dv] float32, with the descale of a tensor."""
        return self.v_pool.float() * self.descales[2]

    def rows(self) -> list[Row]:
        """Q, K and V of every row, wide."""
        case = self.case
        slots = self.inputs.slots[: sum(case.k_lens)].long()
        k_scale, v_scale = (self._by_row(at, case.heads[1]) for at in (1, 2))
        queries = torch.split(self.q_wide, list(case.q_lens))
        tokens = torch.split(slots, list(case.k_lens))
        return [
            (
                q,
                self.k_pool[at].float() * k_scale[row][:, None],
                self.v_pool[at].float() * v_scale[row][:, None],
            )
            for row, (q, at) in enumerate(zip(queries, tokens, strict=True))
        ]

    def _by_row(self, which: int, heads: int) -> torch.Tensor:
        """A descale as [rows, heads]."""
        descale = self.descales[which]
        rows, kv_heads = len(self.case.k_lens), self.case.heads[1]
        by_row = descale.expand(rows, kv_heads)
        return by_row.repeat_interleave(heads // kv_heads, dim=1)

    @property
    def max_seqlen_k(self) -> int:
        return max(self.case.k_lens) + self.case.spare_keys

    @cached_property
    def keyless(self) -> torch.Tensor:
        """[query tokens] bool: no key is visible, by position alone."""
        left, right = self.case.window
        if self.case.causal:
            right = 0
        found = []
        for q_len, k_len in zip(self.case.q_lens, self.case.k_lens, strict=True):
            for position in range(k_len - q_len, k_len):
                first = 0 if left < 0 else max(0, position - left)
                last = k_len - 1 if right < 0 else min(k_len - 1, position + right)
                found.append(first > last)
        return torch.tensor(found, dtype=torch.bool)


def in_pages(pool: torch.Tensor, page_size: int) -> torch.Tensor:
    """[slots, ...] as [pages, page_size, ...]."""
    return pool.view(-1, page_size, *pool.shape[1:])
