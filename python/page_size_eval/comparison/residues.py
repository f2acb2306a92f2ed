"""Losses by prompt length modulo the page size.

A fault in the last, partly filled page harms some residues and spares others, which one
mean over all questions hides: vLLM #50749 found every damaged answer in residues 0 to 8
of 16.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import MonteCarloMethod, fisher_exact

from page_size_eval.comparison.pairing import Pairing
from page_size_eval.measured import MeasuredArm

MOST_CLASSES = 8
RESAMPLES = 9_999
SEED = 0


@dataclass(frozen=True)
class ResidueClass:
    """The questions whose prompt length in tokens, modulo the page size, is in a range.

    Attributes:
        first: the smallest residue, in tokens of the last page.
        last: the largest one.
        right_before: questions that the baseline answers right; with repeats the sum of
            their shares of right passes.
        right_after: the same of the other arm.
    """

    first: int
    last: int
    n: int
    right_before: float
    right_after: float
    lost: int
    gained: int


@dataclass(frozen=True)
class Residues:
    """One arm's flips by prompt length modulo its page size.

    Attributes:
        classes: ranges of residues; together every question whose length is known.
        whole_pages: residue 0 alone: those prompts have no partly filled last page.
        unknown: questions that neither arm's server gave a length for.
        p_value: that losses fall on the classes as unevenly as this by chance: Fisher,
            Freeman and Halton's test over the questions the baseline can lose, by
            9,999 seeded random tables; None if there is no loss or just one class.
    """

    page_size: int
    classes: tuple[ResidueClass, ...]
    whole_pages: ResidueClass
    unknown: int
    p_value: float | None


def split_by_residue(
    pairing: Pairing, baseline: MeasuredArm, other: MeasuredArm
) -> Residues | None:
    """Split a pairing by the other arm's page size; None at page size 1."""
    page_size = other.arm.page_size
    if page_size == 1:
        return None
    lengths = _prompt_lengths(baseline) | _prompt_lengths(other)
    doc_ids = sorted(question.doc_id for question in baseline.passes[0])
    known = np.array([doc_id in lengths for doc_id in doc_ids])
    residue = np.array([lengths.get(doc_id, 0) % page_size for doc_id in doc_ids])
    width = -(-page_size // MOST_CLASSES)

    def count(first: int, last: int) -> ResidueClass:
        inside = known & (first <= residue) & (residue <= last)
        return _count(pairing, inside, first, last)

    starts = range(0, page_size, width)
    return Residues(
        page_size,
        tuple(count(start, min(start + width, page_size) - 1) for start in starts),
        count(0, 0),
        int(np.count_nonzero(~known)),
        _dependence_p(pairing, residue[known] // width, known),
    )


def _prompt_lengths(measured: MeasuredArm) -> dict[int, int]:
    """By doc_id, tokens of the prompt as the arm's server counted them."""
    return {
        question.doc_id: question.prompt_tokens
        for questions in measured.passes
        for question in questions
        if question.prompt_tokens is not None
    }


def _count(
    pairing: Pairing, inside: NDArray[np.bool_], first: int, last: int
) -> ResidueClass:
    return ResidueClass(
        first,
        last,
        int(np.count_nonzero(inside)),
        float(pairing.before[inside].sum() / pairing.passes),
        float(pairing.after[inside].sum() / pairing.passes),
        int(np.count_nonzero(pairing.lost & inside)),
        int(np.count_nonzero(pairing.gained & inside)),
    )


def _dependence_p(
    pairing: Pairing, classes: NDArray[np.int64], known: NDArray[np.bool_]
) -> float | None:
    lost = pairing.lost[known]
    losable = pairing.before[known] > 0
    names = np.unique(classes[losable])
    if not lost.any() or len(names) < 2:
        return None
    table = [
        [np.count_nonzero(group & losable & (classes == name)) for name in names]
        for group in (lost, ~lost)
    ]
    if not any(table[1]):
        return None
    method = MonteCarloMethod(n_resamples=RESAMPLES, rng=np.random.default_rng(SEED))
    return float(fisher_exact(table, method=method).pvalue)
