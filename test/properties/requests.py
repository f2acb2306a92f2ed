"""What the state machine knows of its requests, without looking into SGLang."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from producers.serving import Serving


@dataclass
class Tracked:
    """A request, the tokens it consists of, and how many have K and V in the pool."""

    request: Any
    tokens: list[int]
    computed: int = 0

    @property
    def is_prefilled(self) -> bool:
        return self.computed >= len(self.request.origin_input_ids)


@dataclass
class Pool:
    """Which K and V each slot holds: a token's depend on it and on all before it."""

    content: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def write(self, slots: Sequence[int], tokens: Sequence[int], start: int) -> None:
        """K and V of tokens[start:], in order, into the slots."""
        for i, slot in enumerate(slots):
            self.content[slot] = tuple(tokens[: start + i + 1])

    def check(self, slots: Sequence[int], tokens: Sequence[int]) -> None:
        """Fail unless slot t holds K and V of token t after the same tokens."""
        for t, slot in enumerate(slots):
            held = self.content.get(slot, ())
            assert held == tuple(tokens[: t + 1]), (
                f"token {t} is read from slot {slot}, which holds token"
                f" {len(held) - 1} of {held[:3]}..., not of {tokens[:3]}..."
            )


def row_slots(serving: Serving, tracked: Tracked) -> list[int]:
    """Token t of request i is in slot req_to_token[i, t]."""
    row = serving.req_to_token[tracked.request.kv.req_pool_idx, : tracked.computed]
    slots: list[int] = row.tolist()
    return slots


def flat_slots(kv_indptr: torch.Tensor, kv_indices: torch.Tensor) -> list[list[int]]:
    """The rows of a flat table."""
    bounds = kv_indptr.tolist()
    return [kv_indices[a:b].tolist() for a, b in zip(bounds, bounds[1:], strict=False)]
