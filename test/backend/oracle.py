"""Attention in float64 over what each sequence's K and V are meant to be.

Knows nothing of pages, slots or tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Rule:
    """What a query sees, and how it weighs it.

    Attributes:
        keys: the newest keys that a query sees, its own among them; None for all.
        sinks: [Hq] scores of one more key per head, which has no value.
    """

    scale: float
    keys: int | None = None
    soft_cap: float = 0.0
    sinks: torch.Tensor | None = None


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rule: Rule
) -> torch.Tensor:
    """The last queries of one sequence over all of its keys, causal.

    Args:
        q: [Q, Hq, D], the last at the position of the last key.
        k: [L, Hk, D], v: [L, Hk, Dv].

    Returns:
        [Q, Hq, Dv] float64.
    """
    group = q.shape[1] // k.shape[1]
    k, v = (x.double().repeat_interleave(group, dim=1) for x in (k, v))
    scores = torch.einsum("qhd,lhd->hql", q.double(), k) * rule.scale
    if rule.soft_cap > 0:
        scores = rule.soft_cap * torch.tanh(scores / rule.soft_cap)
    positions = torch.arange(len(k) - len(q), len(k))[:, None]
    age = positions - torch.arange(len(k))[None, :]
    hidden = age < 0 if rule.keys is None else (age < 0) | (age >= rule.keys)
    weights = scores.masked_fill(hidden, -torch.inf)
    if rule.sinks is not None:
        sinks = rule.sinks.double()[:, None, None].expand(-1, len(q), 1)
        weights = torch.cat((weights, sinks), dim=-1)
    weights = torch.softmax(weights, dim=-1)[..., : len(k)]
    return torch.einsum("hql,lhd->qhd", weights, v)


def assert_right(got: torch.Tensor, want: torch.Tensor, what: str = "") -> None:
    """Equal but for the rounding of a bfloat16 output and the order of float32 sums.

    Args:
        got: [tokens, ...] bfloat16; tokens behind those of `want` are padding.
    """
    live = got[: len(want)].double()
    allowed = 2e-5 + 2.0**-8 * want.abs()
    # A NaN is never within tolerance.
    wrong = ~((live - want).abs() <= allowed).flatten(1).all(1)
    worst = (live - want).abs().flatten(1).amax(1)
    tokens = wrong.nonzero()[:, 0].tolist()
    errors = {token: round(float(worst[token]), 4) for token in tokens[:5]}
    assert not tokens, f"{what}: {len(tokens)} of {len(want)} tokens wrong: {errors}"
