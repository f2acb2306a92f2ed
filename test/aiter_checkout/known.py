"""Differences that are understood: who is right, and why nothing is done about them.

A case that is listed and agrees all the same is listed wrongly, and counts as a
disagreement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from aiter_checkout.cases import Case
from aiter_checkout.outcomes import AGREED, DISAGREED, KNOWN, Outcome


@dataclass(frozen=True)
class Known:
    """A difference between a reference and the kernels.

    Attributes:
        applies: whether a case shows it.
    """

    reference: str
    applies: Callable[[Case], bool]
    reason: str


def _drops_right_bound(case: Case) -> bool:
    """A query before the row's first key, and a right bound that no key is beyond."""
    before = any(q > k for q, k in zip(case.q_lens, case.k_lens, strict=True))
    limit = max(case.k_lens) + case.spare_keys
    return before and not case.causal and case.window[1] >= limit


KNOWN_DIFFERENCES = (
    Known(
        "attention_ref",
        _drops_right_bound,
        "without causal, a right window bound >= max_seqlen_k is dropped by aiter's"
        " wrappers (csrc/py_itfs_ck/mha_batch_prefill_kernels.cu,"
        " mha_varlen_fwd_kernels.cu) and so by the kernels here; attention_ref keeps"
        " it, which shows for queries that lie before a row's first key",
    ),
)


def explain(reference: str, outcome: Outcome) -> Outcome:
    """The outcome, told apart by whether its case is listed."""
    for known in KNOWN_DIFFERENCES:
        if known.reference != reference or not known.applies(outcome.case):
            continue
        if outcome.verdict == DISAGREED:
            return replace(outcome, verdict=KNOWN, why=known.reason)
        if outcome.verdict == AGREED:
            why = f"agrees, and is listed as a known difference: {known.reason}"
            return replace(outcome, verdict=DISAGREED, why=why)
    return outcome
