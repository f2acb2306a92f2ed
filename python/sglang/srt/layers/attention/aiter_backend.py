"""What the fork owns of SGLang's AMD attention backend.

`sglang_graft` splices these definitions by name into the file of the same path in
an SGLang tree. Standing alone the module needs only torch; names that a definition
takes from the rest of SGLang's file are imported for type checkers only.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from aiter import flash_attn_varlen_fp8_pertensor_func
    from sglang.srt.layers.radix_attention import RadixAttention
    from sglang.srt.model_executor.forward_batch_info import ForwardBatch

logger = logging.getLogger(__name__)

# Compares the indices that an ordinary batch takes from its metadata with the
# validated ones. Costs two device synchronisations per batch.
_GFX_ASM_CTX_GATHER_CHECK = os.environ.get("SGLANG_GFX_ASM_CTX_GATHER_CHECK") == "1"

# Batches per outcome: "hit", a batch that the ASM kernel served from gathered K/V, or
# the reason of a fall back to the paged kernel. Also on /metrics, if SGLang serves it.
_asm_context_prefill_counts: Counter[str] = Counter()
_asm_context_prefill_metric: Any = None


def _count_asm_context_prefill(outcome: str) -> None:
    """Count one batch under `outcome`; the first hit is logged."""
    global _asm_context_prefill_metric
    _asm_context_prefill_counts[outcome] += 1
    if outcome == "hit" and _asm_context_prefill_counts[outcome] == 1:
        logger.info("[asm-context-prefill] serving context chunks from gathered K/V")
    # SGLang sets this before it starts its workers, and only with --enable-metrics.
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return
    if _asm_context_prefill_metric is None:
        from prometheus_client import Counter as PrometheusCounter

        _asm_context_prefill_metric = PrometheusCounter(
            "sglang:asm_context_prefill",
            "Batches by outcome: hit, the ASM kernel served their chunks from gathered"
            " K/V; else the reason why the paged kernel serves them. Summed over"
            " ranks.",
            labelnames=["outcome"],
        )
    _asm_context_prefill_metric.labels(outcome=outcome).inc()


def _count_asm_context_hit(metadata: Any) -> None:
    """Count the batch of this metadata object as a hit, once for all its layers."""
    if not getattr(metadata, "asm_ctx_counted", False):
        metadata.asm_ctx_counted = True
        _count_asm_context_prefill("hit")


def _asm_context_prefill_fallback(
    reason: str, forward_mode: Any, bs: int, value: int, limit: int
) -> None:
    """Warn about a batch that the paged kernel must serve instead."""
    logger.warning(
        "[asm-context-prefill] falling back to the paged kernel: %s"
        " (value=%d limit=%d mode=%s bs=%d)",
        reason,
        value,
        limit,
        forward_mode,
        bs,
    )
    _count_asm_context_prefill(reason)


def _asm_context_prefill_gather_indices(
    kv_indptr: torch.Tensor,
    kv_indices: torch.Tensor,
    seq_lens: torch.Tensor,
    num_kv_slots: int,
    forward_mode: Any = None,
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """KV pool slots that the ASM context-chunk prefill gathers, one per token.

    Both tables count tokens, whatever the page size: row i of kv_indices, from
    kv_indptr[i] to kv_indptr[i + 1], has one pool slot for every token of sequence i,
    in order. No page arithmetic belongs here.

    Args:
        kv_indptr: [bs + 1] int32 or int64, offsets into kv_indices, in tokens.
        kv_indices: [n] int32 or int64, one pool slot per token; entries from
            kv_indptr[-1] on are padding and are not read.
        seq_lens: [bs] any integer dtype, host or device, prefix plus extend tokens.
            A length beyond its row is cut to the row, with a warning: speculative
            and mixed batches rely on it. A shorter one is honoured.
        num_kv_slots: slots in the pool.
        forward_mode: named in the warnings.

    Returns:
        (tok_idx [total_k] int64 slots, cu_k [bs + 1] int64 offsets in tokens), or
        None after one warning: the metadata cannot be trusted and the paged kernel
        must serve the batch. Synchronises with the device at most twice.
    """
    bs = kv_indptr.numel() - 1
    device = kv_indices.device
    if seq_lens.numel() != bs:
        _asm_context_prefill_fallback(
            "batch_size_mismatch", forward_mode, bs, seq_lens.numel(), bs
        )
        return None
    if bs == 0:
        none = torch.zeros(0, dtype=torch.int64, device=device)
        return none, torch.zeros(1, dtype=torch.int64, device=device)

    # To a GPU without waiting. From one the copy has to be complete before it is read.
    to_gpu = device.type != "cpu"
    indptr = kv_indptr.to(device=device, dtype=torch.int64, non_blocking=to_gpu)
    starts = indptr[:-1]
    rows = indptr[1:] - starts
    wanted = seq_lens.to(device=device, dtype=torch.int64, non_blocking=to_gpu)
    lens = torch.minimum(wanted, rows)
    cu_k = torch.zeros(bs + 1, dtype=torch.int64, device=device)
    torch.cumsum(lens, 0, out=cu_k[1:])
    # An empty row reads nothing, wherever it starts.
    row_ends = torch.where(lens > 0, starts + lens, 0)

    # First synchronisation: everything that has to hold before the table is read.
    total_k, first, shortest_row, shortest_len, table_end, excess = torch.stack(
        (
            cu_k[-1],
            starts[0],
            rows.amin(),
            wanted.amin(),
            row_ends.amax(),
            (wanted - rows).amax(),
        )
    ).tolist()
    table = kv_indices.numel()
    for reason, value, limit, broken in (
        ("negative_kv_indptr", first, 0, first < 0),
        ("decreasing_kv_indptr", shortest_row, 0, shortest_row < 0),
        ("negative_seq_len", shortest_len, 0, shortest_len < 0),
        ("row_past_table", table_end, table, table_end > table),
    ):
        if broken:
            _asm_context_prefill_fallback(reason, forward_mode, bs, value, limit)
            return None
    if excess > 0:
        logger.warning(
            "[asm-context-prefill] seq_lens cut to their kv_indices rows:"
            " longest excess %d tokens (mode=%s bs=%d)",
            excess,
            forward_mode,
            bs,
        )
    if total_k == 0:
        return torch.zeros(0, dtype=torch.int64, device=device), cu_k

    # Entry of token t of sequence i: starts[i] + t = (starts[i] - cu_k[i]) + position
    # of the token in the gathered buffer.
    shift = torch.repeat_interleave(starts - cu_k[:-1], lens, output_size=total_k)
    entries = shift + torch.arange(total_k, device=device)
    tok_idx = kv_indices.index_select(0, entries).to(torch.int64)

    # Second synchronisation: both ends, since a negative slot would wrap around to
    # live data at the end of the pool.
    lowest, highest = torch.stack(torch.aminmax(tok_idx)).tolist()
    if lowest < 0:
        _asm_context_prefill_fallback("negative_slot", forward_mode, bs, lowest, 0)
        return None
    if highest >= num_kv_slots:
        _asm_context_prefill_fallback(
            "slot_past_pool", forward_mode, bs, highest, num_kv_slots
        )
        return None
    return tok_idx, cu_k


def _require_same_indices(
    fast: tuple[torch.Tensor | None, torch.Tensor | None],
    validated: tuple[torch.Tensor, torch.Tensor] | None,
) -> None:
    """Raise if an ordinary batch's indices differ from the validated ones.

    Each pair is (tok_idx [total_k] slots, cu_k [bs + 1] offsets in tokens).
    """
    if (
        validated is not None
        and torch.equal(fast[0].long(), validated[0])  # type: ignore[union-attr]
        and torch.equal(fast[1].long(), validated[1])  # type: ignore[union-attr]
    ):
        return
    raise RuntimeError(
        "[asm-context-prefill] SGLANG_GFX_ASM_CTX_GATHER_CHECK: the indices taken from"
        f" the batch metadata (tok_idx, cu_k) = {fast} differ from the validated ones"
        f" {validated}; the prefill index producer no longer writes one entry per token"
    )


class AiterAttnBackend:
    def _asm_context_prefill_indices(
        self, forward_batch: ForwardBatch, bs: int, num_kv_slots: int
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Slots to gather and cu_seqlens_k, once per batch for all its layers.

        An ordinary extend batch whose host lengths are known needs no device
        synchronisation: its table starts with one entry per token and its kv_indptr
        is cu_seqlens_k. Every other batch takes the validated indices.

        Returns (tok_idx [total_k] slots, int32 or int64; cu_k [bs + 1] int32, in
        tokens), or (None, None) for a batch that the paged kernel must serve.
        """
        # The metadata object is made anew for each batch, so nothing of an earlier
        # batch can be read here. Releases before 0.5.21 do not declare the fields.
        fm: Any = self.forward_metadata  # type: ignore[attr-defined]
        if getattr(fm, "asm_ctx_ready", False):
            return fm.asm_ctx_tok_idx, fm.asm_ctx_cu_k

        host_lens = forward_batch.seq_lens_cpu
        plain = forward_batch.spec_info is None and (
            forward_batch.forward_mode.is_extend()
        )
        # As a list: an operation of torch on the host takes longer than this sum.
        known = plain and host_lens is not None
        total_k = sum(host_lens.tolist()[:bs]) if known else 0
        ordinary = 0 < total_k <= fm.kv_indices.numel()

        tok_idx: torch.Tensor | None = None
        cu_k: torch.Tensor | None = None
        if ordinary:
            tok_idx = fm.kv_indices[:total_k]
            # Bounded by the host's total, so that the kernel cannot read past the
            # gathered rows should the two disagree.
            cu_k = fm.kv_indptr[: bs + 1].clamp_max(total_k).to(torch.int32)
        if not ordinary or _GFX_ASM_CTX_GATHER_CHECK:
            gathered = _asm_context_prefill_gather_indices(
                fm.kv_indptr[: bs + 1],
                fm.kv_indices,
                forward_batch.seq_lens[:bs],
                num_kv_slots,
                forward_batch.forward_mode,
            )
            if ordinary:
                _require_same_indices((tok_idx, cu_k), gathered)
            elif gathered is not None:
                tok_idx, cu_k = gathered[0], gathered[1].to(torch.int32)
        fm.asm_ctx_ready, fm.asm_ctx_tok_idx, fm.asm_ctx_cu_k = True, tok_idx, cu_k
        return tok_idx, cu_k

    def _gather_asm_context_kv(
        self, k_cache: torch.Tensor, v_cache: torch.Tensor, tok_idx: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """K and V of a batch's tokens, contiguous, for the ASM kernel; a hit.

        Args:
            k_cache, v_cache: [slots, heads, dim] of one layer.
            tok_idx: [total_k] slots, as `_asm_context_prefill_indices` gives them.

        Returns:
            ([total_k, heads, dim], [total_k, heads, dim]).
        """
        # Here, so that the rest of this file needs torch alone.
        from sglang.srt.layers.attention.aiter_kv_gather import gather_kv

        _count_asm_context_hit(self.forward_metadata)  # type: ignore[attr-defined]
        return gather_kv(k_cache, v_cache, tok_idx)

    def _attend_asm_prefill(
        self,
        q: torch.Tensor,
        kv: tuple[torch.Tensor, torch.Tensor],
        layer: RadixAttention,
        bs: int,
        descales: tuple[torch.Tensor, torch.Tensor],
        cu_k: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The ASM kernel over contiguous fp8 K/V, causal.

        Args:
            q: [extend tokens, q heads * dim], the model's dtype.
            kv: K and V, [total_k, heads, dim] fp8, the sequences one after the other.
            layer: a full-attention layer.
            bs: sequences in the batch.
            descales: one fp32 element each, the scales that K and V were stored with.
            cu_k: [bs + 1] int32 offsets into K and V, in tokens; None where every
                sequence has as many keys as queries.

        Returns:
            [extend tokens, q heads * dim of V] in the model's dtype.
        """
        backend: Any = self
        fm = backend.forward_metadata
        # Releases before 0.5.23 keep an extend batch's offsets on the backend alone.
        qo_indptr = backend.qo_indptr if fm.qo_indptr is None else fm.qo_indptr
        cu_q = qo_indptr[: bs + 1]
        # q has no calibrated scale: it is cast at unit scale, so K's scale must not
        # describe it. As the paged kernel's q since 0.5.23, which saturates in every
        # torch: beyond 448 `.to` leaves NaN in 2.11 and saturates in 2.14.
        if hasattr(backend, "_quantize_q_fp8"):
            q_fp8, q_descale = backend._quantize_q_fp8(q)
        else:
            q_fp8, q_descale = q.contiguous().to(kv[0].dtype), backend.k_scale
        o: torch.Tensor = flash_attn_varlen_fp8_pertensor_func(
            q_fp8.view(-1, layer.tp_q_head_num, layer.qk_head_dim),
            *kv,
            *(scale.reshape(1) for scale in (q_descale, *descales)),
            cu_q,
            cu_q if cu_k is None else cu_k,
            fm.max_q_len,
            fm.max_q_len if cu_k is None else int(fm.max_kv_len),
            softmax_scale=layer.scaling,
            causal=True,
        )
        width = layer.tp_q_head_num * layer.v_head_dim
        return o.to(backend.input_dtype).view(-1, width)

    def _forward_extend_asm_context(
        self,
        q: torch.Tensor,
        layer: RadixAttention,
        forward_batch: ForwardBatch,
        k_descale: torch.Tensor,
        v_descale: torch.Tensor,
    ) -> torch.Tensor | None:
        """Attention of an extend batch with a prefix, over gathered fp8 K/V.

        Args:
            q: [extend tokens, q heads * 256], the model's dtype.
            layer: a full-attention layer with head_dim 256.
            forward_batch: the batch; its K/V are already in the pool.
            k_descale, v_descale: one fp32 element each, the scales of the cached K/V.

        Returns:
            [extend tokens, q heads * 256] in the model's dtype, or None for a batch
            that the paged kernel must serve.
        """
        pool: Any = self.token_to_kv_pool  # type: ignore[attr-defined]
        bs = forward_batch.batch_size
        k_cache, v_cache = pool.get_kv_buffer(layer.layer_id)
        tok_idx, cu_k = self._asm_context_prefill_indices(
            forward_batch, bs, k_cache.shape[0]
        )
        if tok_idx is None:
            return None
        kv = self._gather_asm_context_kv(k_cache, v_cache, tok_idx)
        return self._attend_asm_prefill(q, kv, layer, bs, (k_descale, v_descale), cu_k)

    def _forward_extend_asm_no_prefix(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        layer: RadixAttention,
        forward_batch: ForwardBatch,
        cache_loc: torch.Tensor,
        k_descale: torch.Tensor,
        v_descale: torch.Tensor,
    ) -> torch.Tensor:
        """Attention of an extend batch without a prefix, over K/V as they are stored.

        The pool and nothing else says what that is: of `k` and `v` the caller may have
        left the raw values, the scaled ones, or none.

        Args:
            q: [extend tokens, q heads * 256], the model's dtype.
            k, v: [extend tokens, heads, 256], read for a 5D pool alone.
            layer: a full-attention layer with head_dim 256.
            forward_batch: the batch.
            cache_loc: [extend tokens] slots that K and V have just been written to.
            k_descale, v_descale: one fp32 element each, the scales of the cached K/V.

        Returns:
            [extend tokens, q heads * 256] in the model's dtype.
        """
        # Here, so that the rest of this file needs torch alone.
        from sglang.srt.layers.attention.aiter_kv_gather import gather_kv

        backend: Any = self
        if backend.kv_cache_is_vectorized_5d:
            # No rows to gather there, but its write has scaled k and v in place.
            shape = (-1, layer.tp_k_head_num, layer.qk_head_dim)
            dtype = backend.kv_cache_dtype
            kv = k.reshape(shape).to(dtype), v.reshape(shape).to(dtype)
        else:
            pool = backend.token_to_kv_pool
            k_cache, v_cache = pool.get_kv_buffer(layer.layer_id)
            kv = gather_kv(k_cache, v_cache, cache_loc)
        descales = k_descale, v_descale
        return self._attend_asm_prefill(
            q, kv, layer, forward_batch.batch_size, descales
        )
