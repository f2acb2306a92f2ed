"""Why each edit of SGLang's tree exists, and when it can go."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sglang_graft.outcome import Refusal
from sglang_graft.overlay import Overlay
from sglang_graft.selection import (
    CONTEXT_BRANCH,
    HEAD_DIM_128_GATHER,
    NO_PREFIX_BRANCH,
    STATEMENT_EDITS,
)

_GATHER_FIX = "https://github.com/sgl-project/sglang/pull/36852"
_FIRST_CHUNKS = "https://github.com/sgl-project/sglang/pull/33399"
_INDEX_REUSE = "https://github.com/sgl-project/sglang/pull/39901"


@dataclass(frozen=True)
class Edit:
    """One definition, new file or statement edit that the fork owns."""

    name: str
    reason: str
    upstream: str
    removal: str


EDITS: tuple[Edit, ...] = (
    Edit(
        "logger",
        "the warnings below need it; equal to SGLang's own, so no line changes",
        _GATHER_FIX,
        "with the last definition that logs",
    ),
    Edit(
        "_GFX_ASM_CTX_GATHER_CHECK",
        "the cross-check of per-batch indices, for 0.5.19 and 0.5.20 too",
        _INDEX_REUSE,
        "when 0.5.20 is no longer supported",
    ),
    Edit(
        "_asm_context_prefill_counts",
        "a fall back to the paged kernel was silent: count each, by reason",
        _GATHER_FIX,
        "when upstream counts hits and fallbacks of the branch",
    ),
    Edit(
        "_asm_context_prefill_metric",
        "the same counts on /metrics, readable from outside the process",
        _GATHER_FIX,
        "when upstream exports hits and fallbacks of the branch",
    ),
    Edit(
        "_count_asm_context_prefill",
        "counts one batch, logs the first hit once",
        _GATHER_FIX,
        "with _asm_context_prefill_counts",
    ),
    Edit(
        "_count_asm_context_hit",
        "a batch is one hit, however many layers, of either head_dim, it has",
        _GATHER_FIX,
        "with _asm_context_prefill_counts",
    ),
    Edit(
        "_asm_context_prefill_fallback",
        "one warning form that names the mode, bs, the value and its limit",
        _GATHER_FIX,
        "with _asm_context_prefill_gather_indices",
    ),
    Edit(
        "_asm_context_prefill_gather_indices",
        "token-level at every page size; refuses negative slots, decreasing offsets"
        " and a bs mismatch, in at most two device synchronisations",
        _GATHER_FIX,
        "when upstream's helper passes the helper tests of this repository",
    ),
    Edit(
        "_require_same_indices",
        "the cross-check raises with both values, where upstream asserts without",
        _INDEX_REUSE,
        "with _GFX_ASM_CTX_GATHER_CHECK",
    ),
    Edit(
        "_asm_context_prefill_indices",
        "once per batch, without a synchronisation, for 0.5.19 and 0.5.20 too; an"
        " ordinary batch's offsets cannot run past its gathered rows",
        _INDEX_REUSE,
        "when upstream bounds the offsets and 0.5.20 is no longer supported",
    ),
    Edit(
        "_gather_asm_context_kv",
        "one gather for the branches of both head dims",
        _GATHER_FIX,
        "with srt/layers/attention/aiter_kv_gather.py",
    ),
    Edit(
        "_attend_asm_prefill",
        "one call of the ASM kernel for both branches of head_dim 256: q's descale is"
        " the scale that q was cast with, where upstream passes K's; q saturates where"
        " the paged kernel's does",
        _GATHER_FIX,
        "when upstream's branches pass test/fp8_scales",
    ),
    Edit(
        "_forward_extend_asm_context",
        "the branch as a method that a test can call",
        _GATHER_FIX,
        "when upstream takes the method and the scale",
    ),
    Edit(
        "_forward_extend_asm_no_prefix",
        "K and V as the pool holds them: upstream casts them raw and has the kernel"
        " scale them all the same; one gather also takes less time than two casts",
        _FIRST_CHUNKS,
        "when upstream's first chunks pass test/fp8_scales",
    ),
    Edit(
        CONTEXT_BRANCH,
        "the inline branch of forward_extend calls the method instead",
        _GATHER_FIX,
        "with _forward_extend_asm_context",
    ),
    Edit(
        NO_PREFIX_BRANCH,
        "the inline branch of forward_extend calls the method instead",
        _FIRST_CHUNKS,
        "with _forward_extend_asm_no_prefix",
    ),
    Edit(
        HEAD_DIM_128_GATHER,
        "two index_selects over bytes become one call, which counts; no branch to edit"
        " before 0.5.22",
        _GATHER_FIX,
        "with srt/layers/attention/aiter_kv_gather.py",
    ),
    Edit(
        "srt/layers/attention/aiter_kv_gather.py",
        "K and V gathered in one launch, 16 bytes per thread, where index_select over"
        " byte views takes two passes that work element by element",
        _GATHER_FIX,
        "when upstream's gather is as fast in benchmark/kv_gather, or the ASM kernel"
        " reads the paged pool itself",
    ),
)


def require_registered(overlay: Overlay) -> None:
    """Refuse unless the overlay and the registry name the same edits, each once.

    Raises:
        Refusal: naming the edits that only one of the two has.
    """
    owned = {d.name for d in overlay.definitions}
    owned |= {*overlay.new_files, *STATEMENT_EDITS}
    counts = Counter(edit.name for edit in EDITS)
    problems = {
        "without an entry": owned - set(counts),
        "entries without a definition": set(counts) - owned,
        "entries that occur twice": {name for name, n in counts.items() if n > 1},
    }
    found = [f"{what}: {', '.join(sorted(w))}" for what, w in problems.items() if w]
    if found:
        raise Refusal(
            "edit registry",
            f"expected one entry per edit of {overlay.root}, found {'; '.join(found)}",
            "bring sglang_graft/edits.py and the overlay together",
        )
