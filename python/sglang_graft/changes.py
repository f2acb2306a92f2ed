"""What goes upstream, one patch each, in this order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sglang_graft.outcome import Refusal
from sglang_graft.selection import (
    CONTEXT_BRANCH,
    HEAD_DIM_128_GATHER,
    NO_PREFIX_BRANCH,
)

REGISTERED_TEST = "test/registered/attention/test_aiter_asm_prefill_gather.py"
# Reads the counter.
ENGINE_TEST = "test/registered/amd/test_asm_context_prefill_page_size.py"


@dataclass(frozen=True)
class Change:
    """Edits that belong together, and the message of their patch.

    `edits` are names of the overlay or of statement edits; what they need comes with
    them, unless an earlier patch has brought it. `tests` are files of this repository
    that the patch adds to the checkout.
    """

    name: str
    edits: tuple[str, ...]
    subject: str
    body: str
    tests: tuple[str, ...] = ()


CHANGES = (
    Change(
        name="helper",
        edits=("_asm_context_prefill_gather_indices",),
        subject="[AMD] Refuse every untrustworthy slot in ASM context prefill",
        body="""\
Problem: a negative slot is gathered: -1 wraps around to the last slot of the KV
pool, which is live. A kv_indptr below 0 reads another entry, one that decreases
raises in the middle of a forward pass, and seq_lens of another batch size are
broadcast.

Cause: the upper ends of the table and of the pool are checked, and no more.

Change: check both ends of both, kv_indptr and the batch size, with at most two
device synchronisations. A batch that cannot be trusted goes to the paged kernel
after one warning: reason, value, limit, forward mode and batch size. The tables
stay token-level at every page size.

Tested: the registered test, on CPU tensors: page sizes 1, 16 and 64, shuffled
pages, both ends of the pool, padded tails, ragged and empty rows. It replaces
the file where there is one.""",
        tests=(REGISTERED_TEST,),
    ),
    Change(
        name="indices",
        edits=("_asm_context_prefill_indices",),
        subject="[AMD] Bound the offsets of ASM context prefill by its gathered rows",
        body="""\
Problem: a batch whose host and device lengths disagree has the ASM kernel read
past the gathered K and V.

Cause: an ordinary batch takes its slots from the host's lengths and its offsets
from the device's.

Change: clamp the offsets to the number of gathered rows, without a device
synchronisation. SGLANG_GFX_ASM_CTX_GATHER_CHECK raises with both sets of
indices where they differ.

Tested: on CPU tensors: ordinary, speculative and padded batches, lengths that
disagree in both directions, reuse over the layers of a batch and none over
batches.""",
    ),
    Change(
        name="gather",
        edits=(HEAD_DIM_128_GATHER,),
        subject="[AMD] Gather K and V of ASM prefill in one launch",
        body="""\
Problem: the gather of paged K and V takes two passes whose time goes with the
number of elements: rows of 256 B cost as much as rows of 512 B.

Cause: index_select on a byte view moves one byte per element.

Change: one Triton kernel for K and V that moves 16 bytes per thread and is
compiled once per pool. The head_dim-128 branch uses it; the head_dim-256 branch
is rewritten in the next patch.

Tested: byte for byte against index_select: row widths, strides, odd widths and
alignment, empty batches. The code compiled for gfx942 and gfx950 has 16-byte
loads and stores and no spills. Measured on an H200 only: 1.7 to 4.8 times as
fast as two index_select at rows of 256 B and 512 B.""",
    ),
    Change(
        name="scales",
        edits=(CONTEXT_BRANCH, NO_PREFIX_BRANCH),
        subject="[AMD] Fix the fp8 scales of head_dim-256 ASM prefill",
        body="""\
Problem: with calibrated KV scales the answer depends on the branch, and so on
page size and on chunking. Nothing shows while the scales are 1.

Cause: both branches cast q at unit scale and pass K's scale as q's. The branch
for first chunks casts raw K and V as well, and has the kernel scale them as if
they had been divided, which one of the two writes to the pool does in place.

Change: q's descale is the scale that q was cast with, by the cast of the paged
kernel, which saturates. First chunks read K and V from the slots that they were
just written to, as the head_dim-128 branch does: one gather in place of two
casts, and right whoever has written them. Both branches become methods.

Tested: AiterAttnBackend over a real fp8 pool, with aiter's kernels replaced by
torch, against dense float64 attention; k_scale 0.5 and v_scale 0.25, page sizes
1, 16 and 64, with and without the page view, whole and chunked prompts.
Relative error of whole prompts 0.84 before and 0.0016, the rounding to bf16,
after; of chunked ones 0.70 and 0.0016. Not run on a gfx950.""",
    ),
    Change(
        name="counters",
        edits=("_count_asm_context_prefill", "_count_asm_context_hit"),
        tests=(ENGINE_TEST,),
        subject="[AMD] Count hits and fallbacks of ASM prefill over gathered KV",
        body="""\
Problem: a server says nothing about whether the ASM path serves, and a batch
that falls back is slower without being wrong.

Change: sglang:asm_context_prefill_total{outcome=...} on /metrics: "hit", once
per batch, or the reason of the fall back. The first hit is logged. Without
--enable-metrics nothing is exported.

Tested: once per batch over its layers and over both head dims, every reason of
a fall back, and the values that prometheus_client exports. The registered test
serves a random model at page sizes 1, 16 and 64, reads the counter and compares
logprobs.""",
    ),
)
NAMES = tuple(change.name for change in CHANGES)


def choose(only: Sequence[str]) -> tuple[Change, ...]:
    """All changes, or those of these names, in the order of all.

    Raises:
        Refusal: a name that no change has; lists those that there are.
    """
    unknown = [name for name in only if name not in NAMES]
    if unknown:
        raise Refusal(
            "--only",
            f"there is no change {', '.join(unknown)}",
            f"choose from {', '.join(NAMES)}",
            exit_code=2,
        )
    return tuple(change for change in CHANGES if not only or change.name in only)
