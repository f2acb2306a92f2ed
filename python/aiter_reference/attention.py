"""Attention over dense, padded rows: the arithmetic that all kernels share."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Scoring:
    """What turns dot products into weights and weights into outputs.

    Attributes:
        scale: [rows, Hk] float32, softmax scale times the descales of Q and K.
        value_scale: [rows, Hk] float32, descale of V.
        soft_cap: scores become cap * tanh(score / cap); 0 is off.
        sinks: [Hq] float32 scores of one more key per head, which has no value.
    """

    scale: torch.Tensor
    value_scale: torch.Tensor
    soft_cap: float = 0.0
    sinks: torch.Tensor | None = None

    def select(self, rows: torch.Tensor | slice) -> Scoring:
        """The same for some of the rows."""
        return Scoring(
            self.scale[rows], self.value_scale[rows], self.soft_cap, self.sinks
        )

    def cap(self, scores: torch.Tensor) -> torch.Tensor:
        """The scores, of any shape, within the soft cap."""
        if self.soft_cap > 0.0:
            return torch.tanh(scores / self.soft_cap) * self.soft_cap
        return scores


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    visible: torch.Tensor | None,
    scoring: Scoring,
) -> torch.Tensor:
    """Attention of every query over the keys that it sees, in float32.

    Query head h reads KV head h // (Hq // Hk); K and V are never expanded to Hq heads:
    the heads of a group are rows of one matrix product.

    Args:
        q: [rows, Q, Hq, D] float32.
        k: [rows, Hk, L, D] float32.
        v: [rows, Hk, L, Dv] float32.
        visible: [rows, Q, W] bool for the last W <= L keys; earlier keys are seen by
            every query. None: every query sees every key.
        scoring: rows as in q.

    Returns:
        [rows, Q, Hq, Dv] float32; zero for a query that sees no key. An output depends
        on visible keys only, even where an invisible one is NaN.
    """
    rows, queries, q_heads, dim = q.shape
    kv_heads, keys = k.shape[1], k.shape[2]
    group = q_heads // kv_heads
    grouped = q.view(rows, queries, kv_heads, group, dim).permute(0, 2, 3, 1, 4)
    scaled = grouped * scoring.scale[:, :, None, None, None]
    scores = torch.matmul(
        scaled.reshape(rows, kv_heads, group * queries, dim), k.transpose(2, 3)
    ).view(rows, kv_heads, group, queries, keys)
    weights = _weigh(scores, visible, scoring)
    out = _sum_values(weights, v, visible) * scoring.value_scale[:, :, None, None, None]
    out = out.permute(0, 3, 1, 2, 4).reshape(rows, queries, q_heads, v.shape[3])
    if visible is not None and visible.shape[2] == keys:
        out.masked_fill_(~visible.any(2)[:, :, None, None], 0.0)
    return out


def _weigh(
    scores: torch.Tensor, visible: torch.Tensor | None, scoring: Scoring
) -> torch.Tensor:
    """Softmax of [rows, Hk, group, Q, L] over the keys; NaN where all are hidden."""
    scores = scoring.cap(scores)
    if visible is not None:
        tail = scores[..., scores.shape[-1] - visible.shape[2] :]
        tail.masked_fill_(~visible[:, None, None], -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    if scoring.sinks is None:
        return weights
    # sum / (sum + exp(sink)) = sigmoid(log(sum) - sink), safe for any magnitude.
    sinks = scoring.sinks.view(1, scores.shape[1], scores.shape[2], 1, 1)
    total = torch.logsumexp(scores, dim=-1, keepdim=True)
    return weights * torch.sigmoid(total - sinks)


def _sum_values(
    weights: torch.Tensor, v: torch.Tensor, visible: torch.Tensor | None
) -> torch.Tensor:
    """[rows, Hk, group, Q, Dv]: the values weighted by [rows, Hk, group, Q, L]."""
    rows, kv_heads, group, queries, keys = weights.shape
    flat = weights.view(rows, kv_heads, group * queries, keys)
    shape = (rows, kv_heads, group, queries, v.shape[3])
    if visible is None or bool(torch.isfinite(v.sum())):
        return torch.matmul(flat, v).view(shape)
    # A hidden key has weight 0, and 0 * NaN is NaN: keep such values out of the sum
    # and bring them back where they are seen.
    broken = ~torch.isfinite(v)
    out = torch.matmul(flat, v.masked_fill(broken, 0.0)).view(shape)
    seen = torch.ones(rows, queries, keys, dtype=v.dtype, device=v.device)
    seen[..., keys - visible.shape[2] :] = visible.to(v.dtype)
    hit = torch.matmul(seen[:, None], broken.to(v.dtype)) > 0
    return out.masked_fill(hit[:, :, None], torch.nan)
