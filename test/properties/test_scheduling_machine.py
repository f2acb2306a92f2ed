"""Random lives of requests through SGLang's allocator, radix cache and metadata.

Requests are admitted, extended in chunks, decoded, finished, retracted and evicted in
any order; after every step each table is read back against what each slot holds.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from producers import scheduling
from producers.features import PAGE_VIEW
from producers.platform import load_aiter_backend
from producers.serving import Serving, serve
from properties.profile import examples
from properties.reference import page_view
from properties.requests import Pool, Tracked, flat_slots, row_slots

CONTEXT_LEN = 160
MAX_REQUESTS = 8
POOL_TOKENS = 320
SEEN: set[str] = set()


class Scheduling(RuleBasedStateMachine):
    """One backend and its pools, and the requests on them."""

    serving: Serving

    def __init__(self) -> None:
        super().__init__()
        self.resources = ExitStack()
        self.pool = Pool()
        self.prompts: list[list[int]] = [[0]]
        self.waiting: list[Tracked] = []
        self.running: list[Tracked] = []
        self.next_token = 1

    @initialize(page_size=st.sampled_from([1, 2, 4, 16, 64]), seed=st.integers(0, 3))
    def start(self, page_size: int, seed: int) -> None:
        self.serving = self.resources.enter_context(
            serve(
                page_size,
                POOL_TOKENS // page_size,
                context_len=CONTEXT_LEN,
                max_requests=MAX_REQUESTS,
                seed=seed,
            )
        )

    def teardown(self) -> None:
        self.resources.close()

    @precondition(lambda self: len(self.waiting) + len(self.running) < MAX_REQUESTS)
    @rule(
        shared=st.integers(0, 7),
        keep=st.integers(0, 100),
        fresh=st.integers(1, 40),
    )
    def submit(self, shared: int, keep: int, fresh: int) -> None:
        """A prompt that begins as an earlier one, and goes on as none before."""
        begin = self.prompts[shared % len(self.prompts)][:keep]
        tokens = [*begin, *self._fresh(fresh)]
        self.prompts.append(tokens)
        request = scheduling.make_request(str(len(self.prompts)), tokens)
        self.waiting.append(Tracked(request, tokens.copy()))

    def _fresh(self, count: int) -> list[int]:
        self.next_token += count
        return list(range(self.next_token - count, self.next_token))

    @precondition(lambda self: self._unfinished_prefills())
    @rule(
        picks=st.sets(st.integers(0, MAX_REQUESTS - 1), min_size=1),
        chunks=st.lists(
            st.integers(1, 60), min_size=MAX_REQUESTS, max_size=MAX_REQUESTS
        ),
    )
    def extend(self, picks: set[int], chunks: list[int]) -> None:
        """A chunk of some requests, new ones and chunked ones in one batch."""
        ready = self._unfinished_prefills()
        chosen = [ready[i] for i in sorted({pick % len(ready) for pick in picks})]
        new = [tracked for tracked in chosen if tracked in self.waiting]
        for tracked in new:
            scheduling.match(self.serving, tracked.request)
        starts = [scheduling.prefix_len(tracked.request) for tracked in chosen]
        ends = [
            min(len(tracked.tokens), start + chunk)
            for tracked, start, chunk in zip(chosen, starts, chunks, strict=False)
        ]
        if not self._has_room(sum(ends) - sum(starts), len(chosen)):
            for tracked in new:
                scheduling.unmatch(self.serving, tracked.request)
            SEEN.add("no room")
            return
        for tracked in new:
            self.waiting.remove(tracked)
            self.running.append(tracked)
        requests = [tracked.request for tracked in chosen]
        batch = scheduling.extend(self.serving, requests, ends)
        self._write(batch, chosen, starts, ends)
        self._check_extend(batch, chosen)
        SEEN.update(["prefix", "cached"] if any(starts) and new else [])
        for request in requests:
            scheduling.checkpoint(self.serving, request)

    @precondition(lambda self: self._decoding())
    @rule(picks=st.sets(st.integers(0, MAX_REQUESTS - 1), min_size=1))
    def decode(self, picks: set[int]) -> None:
        """One more token of some requests; it follows the one that was sampled."""
        ready = self._decoding()
        chosen = [ready[i] for i in sorted({pick % len(ready) for pick in picks})]
        if not self._has_room(len(chosen), len(chosen)):
            SEEN.add("no room")
            return
        starts = [tracked.computed for tracked in chosen]
        for tracked in chosen:
            (token,) = self._fresh(1)
            tracked.tokens.append(token)
            tracked.request.output_ids.append(token)
        batch = scheduling.decode(self.serving, [tracked.request for tracked in chosen])
        self._write(batch, chosen, starts, [start + 1 for start in starts])
        self.serving.backend.init_forward_metadata(batch)
        fm = self.serving.backend.forward_metadata
        self._check_flat(flat_slots(fm.kv_indptr, fm.kv_indices), chosen)
        SEEN.add("decode")

    @precondition(lambda self: self._decoding())
    @rule(pick=st.integers(0, MAX_REQUESTS - 1))
    def finish(self, pick: int) -> None:
        tracked = self._take(self._decoding(), pick)
        scheduling.release(self.serving, tracked.request, keep=True)
        SEEN.add("finish")

    @precondition(lambda self: self._decoding())
    @rule(pick=st.integers(0, MAX_REQUESTS - 1))
    def retract(self, pick: int) -> None:
        """Its slots are given back; it will be prefilled again, output and all."""
        tracked = self._take(self._decoding(), pick)
        scheduling.release(self.serving, tracked.request, keep=False)
        tracked.request.reset_for_retract()
        tracked.computed = 0
        self.waiting.append(tracked)
        SEEN.add("retract")

    @precondition(lambda self: self.serving.tree_cache.evictable_size() > 0)
    @rule(num_tokens=st.integers(1, 32))
    def evict(self, num_tokens: int) -> None:
        before = scheduling.cached_tokens(self.serving)
        scheduling.evict(self.serving, num_tokens)
        assert scheduling.cached_tokens(self.serving) < before
        SEEN.add("evict")

    @invariant()
    def every_running_request_still_has_its_tokens(self) -> None:
        for tracked in self.running:
            self.pool.check(row_slots(self.serving, tracked), tracked.tokens)

    @invariant()
    def every_slot_is_free_cached_or_a_requests_own(self) -> None:
        if not hasattr(self, "serving"):
            return
        p = self.serving.page_size
        own = [
            -(-tracked.computed // p) * p - tracked.request.kv.cache_protected_len
            for tracked in self.running
        ]
        free = self.serving.allocator.available_size()
        cached = scheduling.cached_tokens(self.serving)
        assert free + cached + sum(own) == POOL_TOKENS, (free, cached, own)

    def _unfinished_prefills(self) -> list[Tracked]:
        begun = [t for t in self.running if t.computed < len(t.tokens)]
        return [*self.waiting, *begun]

    def _decoding(self) -> list[Tracked]:
        return [
            t
            for t in self.running
            if t.computed == len(t.tokens) < CONTEXT_LEN and t.is_prefilled
        ]

    def _take(self, ready: list[Tracked], pick: int) -> Tracked:
        tracked = ready[pick % len(ready)]
        self.running.remove(tracked)
        return tracked

    def _has_room(self, tokens: int, requests: int) -> bool:
        """As a scheduler sees to before it admits a batch."""
        need = tokens + requests * self.serving.page_size
        tree = self.serving.tree_cache
        return bool(
            need <= self.serving.allocator.available_size() + tree.evictable_size()
            and requests <= self.serving.req_to_token_pool.available_size()
        )

    def _write(
        self, batch: Any, chosen: list[Tracked], starts: list[int], ends: list[int]
    ) -> None:
        new = [end - start for start, end in zip(starts, ends, strict=True)]
        parts = torch.split(batch.out_cache_loc, new)
        for tracked, slots, start, end in zip(chosen, parts, starts, ends, strict=True):
            self.pool.write(slots.tolist(), tracked.tokens, start)
            tracked.computed = end

    def _check_extend(self, batch: Any, chosen: list[Tracked]) -> None:
        backend, bs = self.serving.backend, batch.batch_size
        backend.init_forward_metadata(batch)
        fm = backend.forward_metadata
        self._check_flat(flat_slots(fm.kv_indptr[: bs + 1], fm.kv_indices), chosen)
        tok_idx, cu_k = backend._asm_context_prefill_indices(
            batch, bs, self.serving.num_slots
        )
        assert tok_idx is not None and cu_k is not None, "refused"
        self._check_flat(flat_slots(cu_k, tok_idx), chosen)
        gathered = load_aiter_backend()._asm_context_prefill_gather_indices(
            fm.kv_indptr[: bs + 1],
            fm.kv_indices,
            batch.seq_lens,
            self.serving.num_slots,
        )
        assert gathered is not None, "refused"
        self._check_flat(flat_slots(gathered[1], gathered[0]), chosen)
        if PAGE_VIEW.here():
            self._check_view(fm, batch, chosen)

    def _check_view(self, fm: Any, batch: Any, chosen: list[Tracked]) -> None:
        view = load_aiter_backend()._build_paged_kv_view(
            fm.kv_indices, batch.seq_lens_cpu, self.serving.page_size
        )
        slots = [row_slots(self.serving, tracked) for tracked in chosen]
        want = page_view(slots, self.serving.page_size)
        assert tuple(part.tolist() for part in view) == want

    def _check_flat(self, rows: list[list[int]], chosen: list[Tracked]) -> None:
        assert len(rows) == len(chosen)
        for slots, tracked in zip(rows, chosen, strict=True):
            assert slots == row_slots(self.serving, tracked)
            self.pool.check(slots, tracked.tokens[: tracked.computed])


def test_every_table_is_right_after_every_step_of_random_lives() -> None:
    SEEN.clear()
    run_state_machine_as_test(Scheduling, settings=examples(60))
    # A machine whose steps are all refused proves nothing.
    assert {
        "cached",
        "decode",
        "evict",
        "finish",
        "no room",
        "prefix",
        "retract",
    } == SEEN
