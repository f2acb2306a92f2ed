"""What came of a case, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from aiter_checkout.cases import Case
from aiter_checkout.checkout import ReferenceFailed
from aiter_checkout.tolerance import Tolerance

AGREED, DISAGREED, NOT_APPLICABLE = "agreed", "disagreed", "not applicable"
KNOWN = "known difference"


@dataclass(frozen=True)
class Sides:
    """A case, ready to be computed on either side.

    Attributes:
        expected: aiter's reference.
        actual: the kernel of aiter_reference.
        keyless: [query tokens] bool, queries that see no key; the reference may leave
            those NaN.
    """

    expected: Callable[[], torch.Tensor]
    actual: Callable[[], torch.Tensor]
    tolerance: Tolerance
    keyless: torch.Tensor


@dataclass(frozen=True)
class Outcome:
    """One case.

    Attributes:
        verdict: agreed, disagreed, not applicable, or a difference that known.py lists.
        why: of a case that did not agree.
        share: the worst difference over what is allowed there; 1 is the limit.
        worst: the largest difference.
        undefined: queries that the reference leaves NaN, for they see no key.
        tolerance: where it comes from.
    """

    case: Case
    verdict: str
    why: str = ""
    share: float = 0.0
    worst: float = 0.0
    undefined: int = 0
    tolerance: str = ""


def settle(case: Case, sides: Sides) -> Outcome:
    """Compute both sides and compare them.

    Raises:
        ReferenceFailed: the reference raises on a batch in which every row has keys.
    """
    try:
        actual = sides.actual()
    except NotImplementedError as error:
        why = f"{case.beyond} is not modelled" if case.beyond else str(error)
        return Outcome(case, NOT_APPLICABLE, why)
    except (ValueError, IndexError) as error:
        return Outcome(case, DISAGREED, f"the kernel refuses it: {error}")
    try:
        expected = sides.expected()
    except ReferenceFailed as failure:
        kind = type(failure.error).__name__
        if 0 in case.k_lens and kind in ("IndexError", "RuntimeError"):
            why = f"the reference raises {kind} at a row without keys"
            return Outcome(case, NOT_APPLICABLE, why)
        raise
    return judge(case, actual, expected, sides)


def judge(
    case: Case, actual: torch.Tensor, expected: torch.Tensor, sides: Sides
) -> Outcome:
    """Agreed if every element is within tolerance; a NaN of the kernel never is."""
    if actual.shape != expected.shape:
        why = f"shape {tuple(actual.shape)} for {tuple(expected.shape)}"
        return Outcome(case, DISAGREED, why)
    undefined = torch.zeros_like(sides.keyless)
    if len(undefined) == len(expected):
        undefined = sides.keyless & expected.isnan().flatten(1).all(1)
        actual, expected = actual[~undefined], expected[~undefined]
    if len(expected) == 0:
        return Outcome(case, NOT_APPLICABLE, "no query sees a key")
    got, want = actual.double(), expected.double()
    difference = (got - want).abs()
    tolerance = sides.tolerance
    allowed = tolerance.relative * want.abs() + tolerance.absolute
    outside = ~(difference <= allowed)
    share = torch.where(difference == 0, 0.0, difference / allowed)
    measured = Outcome(
        case,
        AGREED,
        share=float(share.nan_to_num(torch.inf).max()),
        worst=float(difference.nan_to_num(torch.inf).max()),
        undefined=int(undefined.sum()),
        tolerance=tolerance.source,
    )
    if not bool(outside.any()):
        return measured
    at = tuple(outside.nonzero()[0].tolist())
    why = (
        f"{int(outside.sum())} of {outside.numel()} elements, the first at {at}: got"
        f" {float(got[at]):.7g}, reference {float(want[at]):.7g}, allowed"
        f" {float(allowed[at]):.2g}"
    )
    return replace(measured, verdict=DISAGREED, why=why)
