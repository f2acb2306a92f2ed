"""Which keys a query sees."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Band:
    """Keys around the position of a query: [position - left, position + right].

    Bottom-right: query i of a row is at position k_len - q_len + i, the last query at
    the last key. -1 is unbounded.
    """

    left: int
    right: int

    @classmethod
    def from_window(
        cls, causal: bool, window_size: tuple[int, ...], max_seqlen_k: int
    ) -> Band:
        """As aiter reads its arguments: causal bounds the right at 0, and a bound that
        no row of max_seqlen_k keys can reach is none."""
        left, right = (
            -1 if bound < 0 or bound >= max_seqlen_k else bound
            for bound in window_size[:2]
        )
        return cls(left, 0 if causal else right)

    def first_key(self, q_len: int, k_len: int) -> int:
        """The first key that any query of the row sees; all later ones may be seen."""
        return 0 if self.left < 0 else max(0, k_len - q_len - self.left)

    def visible(
        self, q_len: int, k_len: int, device: torch.device
    ) -> torch.Tensor | None:
        """[1, q_len, W] bool for the last W keys of the row, those before being seen by
        every query; None when that leaves nothing to hide."""
        if self.left < 0 and self.right < 0:
            return None
        start = k_len - q_len
        # Without a left bound only the keys after the first query's are ever hidden.
        first = self.first_key(q_len, k_len) if self.left >= 0 else max(0, start)
        queries = torch.arange(start, k_len, device=device)[:, None]
        keys = torch.arange(first, k_len, device=device)[None, :]
        seen = torch.ones(q_len, k_len - first, dtype=torch.bool, device=device)
        if self.left >= 0:
            seen &= keys >= queries - self.left
        if self.right >= 0:
            seen &= keys <= queries + self.right
        return seen[None]
