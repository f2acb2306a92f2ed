"""Three prompts, whole or in chunks, over an fp8 cache with scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from backend.bench import EXTEND, Bench, Part
from backend.branches import recorded
from backend.oracle import Rule, attend
from backend.pools import FULL_LAYER
from backend.shapes import FP8, Setup
from backend.switches import switched

LENS = (70, 33, 130)
# Steps of (prompt, tokens), one extend batch each. In the second step of "chunks" a
# prompt without a prefix is between two that have one.
Cut = Literal["whole", "chunks"]
CUTS: dict[Cut, tuple[tuple[tuple[int, int], ...], ...]] = {
    "whole": (((0, 70), (1, 33), (2, 130)),),
    "chunks": (((2, 64), (0, 40)), ((0, 30), (1, 33), (2, 66))),
}
# Who stores K and V: the backend from what it is given, the pool, which divides what
# it is given in place, or the model, which gives the backend neither.
Write = Literal["fused", "in place", "before"]


@dataclass(frozen=True)
class Case:
    """A layer, and how its prompts are served.

    Attributes:
        loudness: factor on Q, K and V; 300 takes many of them out of fp8's range.
    """

    setup: Setup
    cut: Cut
    switches: tuple[str, ...] = ("no view",)
    write: Write = "fused"
    loudness: float = 1.0


@dataclass(frozen=True)
class Served:
    """Outputs and what they are meant to be, [tokens of all prompts, Hq, D].

    `forms` are the forms of the kernel that served each step.
    """

    got: torch.Tensor
    want: torch.Tensor
    forms: list[str]


def serve(case: Case) -> Served:
    """Run the backend's own forward passes of all steps."""
    with switched(*case.switches), recorded() as calls:
        bench = Bench(case.setup)
        if case.write == "in place":
            bench.backend._use_fused_fp8_kv_write = lambda layer: False
        requests = bench.admit([0] * len(LENS))
        got: list[list[torch.Tensor]] = [[] for _ in LENS]
        queries: list[list[torch.Tensor]] = [[] for _ in LENS]
        for step in CUTS[case.cut]:
            prompts, tokens = zip(*step, strict=True)
            parts = bench.take([requests[i] for i in prompts], tokens)
            _draw(parts, case)
            rows = torch.split(_run(bench, parts, case.write), list(tokens))
            for i, part, out in zip(prompts, parts, rows, strict=True):
                got[i].append(out)
                queries[i].append(part.q[FULL_LAYER])
    scaling = case.setup.scaling or case.setup.head_dim**-0.5
    want = [
        attend(
            _stored(torch.cat(queries[i]), None),
            _stored(request.k[FULL_LAYER], case.setup.k_scale),
            _stored(request.v[FULL_LAYER], case.setup.v_scale),
            Rule(scale=scaling),
        )
        for i, request in enumerate(requests)
    ]
    flat = torch.cat([out for prompt in got for out in prompt])
    return Served(flat, torch.cat(want), [call.form for call in calls])


def _draw(parts: Sequence[Part], case: Case) -> None:
    """Give the parts Q, K and V that fp8 has to round, whatever the cut the same."""
    for part in parts:
        generator = torch.Generator().manual_seed(part.request.row)
        own = slice(part.start, part.end)
        for kept in (part.request.k, part.request.v, part.q):
            rows = kept[FULL_LAYER]
            shape = (max(LENS), *rows.shape[1:])
            drawn = torch.randn(shape, generator=generator) * case.loudness
            where = slice(None) if kept is part.q else own
            rows[where] = drawn[own].to(torch.bfloat16)


def _run(bench: Bench, parts: Sequence[Part], write: Write) -> torch.Tensor:
    """[tokens, Hq, D] of one extend batch."""
    if write != "before":
        (output,) = bench.run(parts)
        return output.got
    (layer,) = bench.layers
    scales = bench.setup.k_scale, bench.setup.v_scale
    for part in parts:
        kv = part.request.k[FULL_LAYER], part.request.v[FULL_LAYER]
        narrow = (
            _narrow(rows[part.start : part.end], scale)
            for rows, scale in zip(kv, scales, strict=True)
        )
        bench.pools.poke(FULL_LAYER, part.slots, *narrow)
    batch = bench.make_batch(parts, EXTEND)
    bench.backend.init_forward_metadata(batch)
    q = torch.cat([part.q[FULL_LAYER] for part in parts])
    out: Any = bench.backend.forward_extend(
        q.flatten(1), None, None, layer, batch, save_kv_cache=False
    )
    return out.view(q.shape)  # type: ignore[no-any-return]


def _narrow(rows: torch.Tensor, scale: float | None) -> torch.Tensor:
    """What is stored: rows / scale in fp8, which saturates."""
    limit = torch.finfo(FP8).max
    return (rows.float() / (scale or 1.0)).clamp(-limit, limit).to(FP8)


def _stored(rows: torch.Tensor, scale: float | None) -> torch.Tensor:
    """What the cache gives back for `rows`, float64."""
    return _narrow(rows, scale).double() * (scale or 1.0)
