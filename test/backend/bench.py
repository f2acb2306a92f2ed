"""A real AiterAttnBackend over real pools, without a model and without a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from sglang.srt.layers.attention.aiter_backend import AiterAttnBackend
from sglang.srt.model_executor.forward_batch_info import ForwardBatch, ForwardMode
from sglang.srt.model_executor.forward_context import ForwardContext, forward_context

from backend.oracle import Rule, assert_right, attend
from backend.pools import FULL_LAYER, WINDOW_LAYER, Pools
from backend.runner import configured, make_layer, make_runner
from backend.shapes import FP8, Setup

EXTEND, DECODE, MIXED = ForwardMode.EXTEND, ForwardMode.DECODE, ForwardMode.MIXED
VERIFY, DRAFT_EXTEND = ForwardMode.TARGET_VERIFY, ForwardMode.DRAFT_EXTEND_V2


@dataclass
class Request:
    """One sequence: its row of req_to_token, and K and V of its tokens by layer."""

    row: int
    length: int = 0
    k: dict[int, torch.Tensor] = field(default_factory=dict)
    v: dict[int, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One request's share of a batch: its tokens [start, start + len(slots)).

    Attributes:
        q: by layer, [tokens, Hq, D] bfloat16.
    """

    request: Request
    start: int
    slots: torch.Tensor
    q: dict[int, torch.Tensor]

    @property
    def tokens(self) -> int:
        return len(self.slots)

    @property
    def end(self) -> int:
        return self.start + self.tokens


@dataclass(frozen=True)
class Output:
    """What one layer returned for a batch, and what it is meant to: [tokens, Hq, D]."""

    got: torch.Tensor
    want: torch.Tensor


def require_right(outputs: Sequence[Output], what: str = "") -> None:
    """Every layer's output is the oracle's, but for rounding."""
    for layer, output in enumerate(outputs):
        assert_right(output.got, output.want, f"{what} layer {layer}")


class Bench:
    """Serves batches of requests with random K, V and Q that fp8 holds exactly."""

    def __init__(self, setup: Setup | None = None, seed: int = 0) -> None:
        self.setup = setup = setup or Setup()
        self.generator = torch.Generator().manual_seed(seed)
        self.pools = Pools(setup, self.generator)
        self.runner = make_runner(setup, self.pools)
        with configured(setup):
            self.backend: Any = AiterAttnBackend(self.runner, topk=setup.topk)
        self.layers = [make_layer(setup, FULL_LAYER, setup.layer_window)]
        if setup.window is not None:
            self.layers.append(make_layer(setup, WINDOW_LAYER, setup.window))
        self.layer_ids = [layer.layer_id for layer in self.layers]

    def admit(self, prefixes: Sequence[int]) -> list[Request]:
        """New requests with so many tokens in the pool, put there without SGLang."""
        requests = []
        for prefix in prefixes:
            (row,) = self.pools.requests.alloc_rows(1)
            request = Request(row)
            (part,) = self.take([request], [prefix])
            self.store(part)
            requests.append(request)
        return requests

    def take(self, requests: Sequence[Request], tokens: Sequence[int]) -> list[Part]:
        """The next tokens of the requests: slots for them, their K, V and Q."""
        parts = []
        for request, count in zip(requests, tokens, strict=True):
            start = request.length
            slots = self.pools.place(request.row, start, count)
            request.length += count
            q = {at: self._draw(request, at, count) for at in self.layer_ids}
            parts.append(Part(request, start, slots, q))
        return parts

    def store(self, part: Part) -> None:
        """Put K and V of these tokens into the pool, without SGLang."""
        for at in self.layer_ids:
            k, v = self._new_kv(part, at)
            scaled = (k / (self.setup.k_scale or 1), v / (self.setup.v_scale or 1))
            self.pools.poke(at, part.slots, *scaled)

    def extend(self, prefixes: Sequence[int], tokens: Sequence[int]) -> list[Output]:
        """One extend batch of new requests: prefixes[i] tokens, then tokens[i]."""
        return self.run(self.take(self.admit(prefixes), tokens))

    def decode(self, requests: Sequence[Request], **options: Any) -> list[Output]:
        """One more token of each request."""
        return self.run(self.take(requests, [1] * len(requests)), DECODE, **options)

    def run(
        self, parts: Sequence[Part], mode: Any = EXTEND, **options: Any
    ) -> list[Output]:
        """Serve a batch: its metadata, then every layer."""
        batch = self.make_batch(parts, mode)
        self.backend.init_forward_metadata(batch)
        return self.forward(batch, parts, **options)

    def run_padded(
        self, parts: Sequence[Part], padding: int, pad_slot: int, **options: Any
    ) -> list[Output]:
        """An extend batch padded with tokens, as for ranks that work in step."""
        batch = self.make_batch(parts, EXTEND)
        self.backend.init_forward_metadata(batch)
        batch.global_num_token_non_padded_cpu = len(batch.out_cache_loc)
        pad = batch.out_cache_loc.new_full((padding,), pad_slot)
        batch.out_cache_loc = torch.cat((batch.out_cache_loc, pad))
        return self.forward(batch, parts, padding=padding, **options)

    def forward(
        self,
        batch: Any,
        parts: Sequence[Part],
        *,
        keys: int | None = None,
        padding: int = 0,
        sinks: torch.Tensor | None = None,
    ) -> list[Output]:
        """Run every layer on a batch that the backend has the metadata of.

        Args:
            keys: how many keys a query of a window layer is meant to see.
            padding: tokens of NaN behind those of the batch.
        """
        outputs = []
        options = {} if sinks is None else {"sinks": sinks}
        for layer in self.layers:
            q = torch.cat([part.q[layer.layer_id] for part in parts])
            pairs = [self._new_kv(part, layer.layer_id) for part in parts]
            k, v = (torch.cat([pair[i] for pair in pairs]) for i in range(2))
            padded = [_pad(rows, padding).flatten(1) for rows in (q, k, v)]
            with torch.no_grad(), forward_context(ForwardContext(self.backend)):
                got = layer(*padded, batch, **options)
            want = self._expect(parts, layer, keys, sinks)
            outputs.append(Output(got.view(len(got), *want.shape[1:]), want))
        return outputs

    def make_batch(self, parts: Sequence[Part], mode: Any) -> Any:
        # Tokens to be verified are no part of the length yet.
        drafted = mode.is_target_verify()
        lens = torch.tensor([part.start if drafted else part.end for part in parts])
        batch = ForwardBatch(
            forward_mode=mode,
            batch_size=len(parts),
            input_ids=torch.zeros(sum(p.tokens for p in parts), dtype=torch.int64),
            req_pool_indices=torch.tensor([part.request.row for part in parts]),
            seq_lens=lens,
            seq_lens_cpu=lens.clone(),
            seq_lens_sum=int(lens.sum()),
            out_cache_loc=torch.cat([part.slots for part in parts]),
            positions=torch.cat([torch.arange(p.start, p.end) for p in parts]),
        )
        self.runner.kv_index_translator.bind_own_plan(batch)
        if drafted:
            batch.spec_info = SimpleNamespace(
                draft_token_num=parts[0].tokens,
                custom_mask=torch.ones(1, dtype=torch.bool),
            )
        elif not mode.is_decode():
            prefixes, tokens = [p.start for p in parts], [p.tokens for p in parts]
            batch.extend_prefix_lens = torch.tensor(prefixes, dtype=torch.int32)
            batch.extend_prefix_lens_cpu = prefixes
            batch.extend_seq_lens = torch.tensor(tokens, dtype=torch.int32)
            batch.extend_seq_lens_cpu = tokens
            batch.extend_num_tokens = sum(tokens)
        return batch

    def _expect(
        self,
        parts: Sequence[Part],
        layer: Any,
        keys: int | None,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        rule = Rule(
            scale=layer.scaling,
            keys=keys if layer.sliding_window_size >= 0 else None,
            soft_cap=layer.logit_cap,
            sinks=sinks,
        )
        at, rows = layer.layer_id, []
        for part in parts:
            k, v = part.request.k[at][: part.end], part.request.v[at][: part.end]
            rows.append(attend(part.q[at], k, v, rule))
        return torch.cat(rows)

    def _draw(self, request: Request, layer: int, tokens: int) -> torch.Tensor:
        """Q of a request's next tokens, [tokens, Hq, D]; it keeps their K and V."""
        for kept, scale in (
            (request.k, self.setup.k_scale),
            (request.v, self.setup.v_scale),
        ):
            rows = self._random(tokens, self.setup.kv_heads) * (scale or 1)
            kept[layer] = torch.cat((kept.get(layer, rows[:0]), rows))
        return self._random(tokens, self.setup.q_heads)

    def _new_kv(self, part: Part, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """K and V of the part's own tokens, [tokens, Hk, D]."""
        tokens = slice(part.start, part.end)
        return part.request.k[layer][tokens], part.request.v[layer][tokens]

    def _random(self, tokens: int, heads: int) -> torch.Tensor:
        """[tokens, heads, D] bfloat16 that fp8 holds as they are."""
        shape = (tokens, heads, self.setup.head_dim)
        values = torch.randn(shape, generator=self.generator)
        return values.to(FP8).to(torch.bfloat16)


def _pad(rows: torch.Tensor, count: int) -> torch.Tensor:
    """`rows` and as many rows of NaN behind them."""
    return torch.cat((rows, rows.new_full((count, *rows.shape[1:]), torch.nan)))
