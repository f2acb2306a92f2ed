"""A case agrees within its tolerance and no further."""

from __future__ import annotations

import pytest
import torch

from aiter_checkout.cases import BF16, FP16, Case
from aiter_checkout.checkout import ReferenceFailed
from aiter_checkout.known import explain
from aiter_checkout.outcomes import (
    AGREED,
    DISAGREED,
    KNOWN,
    NOT_APPLICABLE,
    Outcome,
    Sides,
    settle,
)
from aiter_checkout.problem import Problem
from aiter_checkout.tolerance import EXACT, Tolerance, rounding

CASE = Case()
NAN = float("nan")


def sides(
    actual: list[float],
    expected: list[float],
    keyless: list[bool] | None = None,
    tolerance: Tolerance = EXACT,
) -> Sides:
    """One value for every query."""
    return Sides(
        lambda: torch.tensor(expected)[:, None],
        lambda: torch.tensor(actual)[:, None],
        tolerance,
        torch.tensor(keyless or [False] * len(expected)),
    )


def fails(error: Exception) -> torch.Tensor:
    raise error


@pytest.mark.parametrize(
    ("actual", "verdict"), [(1.0, AGREED), (1.25, AGREED), (1.26, DISAGREED)]
)
def test_the_limit_itself_agrees_and_a_step_beyond_does_not(
    actual: float, verdict: str
) -> None:
    outcome = settle(
        CASE, sides([actual], [1.0], tolerance=Tolerance(0.125, 0.125, ""))
    )
    assert outcome.verdict == verdict, outcome
    assert outcome.share == pytest.approx(abs(actual - 1) / 0.25)


def test_a_disagreement_names_its_first_element() -> None:
    outcome = settle(CASE, sides([1.0, 2.0, 3.0], [1.0, 2.5, 4.0]))
    assert outcome.verdict == DISAGREED
    assert outcome.why.startswith("2 of 3 elements, the first at (1, 0): got 2, refer")
    assert outcome.worst == 1.0


@pytest.mark.parametrize(("actual", "expected"), [(NAN, 1.0), (1.0, NAN), (NAN, NAN)])
def test_nan_of_a_query_with_keys_disagrees(actual: float, expected: float) -> None:
    outcome = settle(CASE, sides([0.0, actual], [0.0, expected], [True, False]))
    assert outcome.verdict == DISAGREED, outcome
    assert outcome.worst == torch.inf


def test_queries_without_keys_are_left_out_only_where_the_reference_is_nan() -> None:
    outcome = settle(CASE, sides([0.0, 0.0, 1.0], [NAN, 0.0, 1.0], [True, True, False]))
    assert (outcome.verdict, outcome.undefined) == (AGREED, 1)
    outcome = settle(CASE, sides([0.0, 7.0, 1.0], [NAN, 0.0, 1.0], [True, True, False]))
    assert outcome.verdict == DISAGREED, outcome


def test_a_case_of_which_nothing_is_left_has_not_agreed() -> None:
    outcome = settle(CASE, sides([0.0], [NAN], [True]))
    assert outcome.verdict == NOT_APPLICABLE, outcome


def test_another_shape_disagrees() -> None:
    assert settle(CASE, sides([1.0], [1.0, 1.0])).verdict == DISAGREED


def test_what_is_not_modelled_is_not_applicable_and_what_is_refused_disagrees() -> None:
    def refusing(error: Exception) -> Sides:
        return Sides(lambda: torch.ones(1), lambda: fails(error), EXACT, torch.ones(1))

    outcome = settle(Case(beyond="HND"), refusing(NotImplementedError("layout")))
    assert (outcome.verdict, outcome.why) == (NOT_APPLICABLE, "HND is not modelled")
    for error in (ValueError("dtype"), IndexError("page")):
        outcome = settle(CASE, refusing(error))
        assert outcome.verdict == DISAGREED, outcome
        assert str(error) in outcome.why


def test_a_reference_that_raises_is_excused_by_a_row_without_keys_alone() -> None:
    def raising(error: Exception) -> Sides:
        failure = ReferenceFailed("reference", error)
        return Sides(
            lambda: fails(failure), lambda: torch.ones(1), EXACT, torch.ones(1)
        )

    empty = Case(batch="row without keys")
    outcome = settle(empty, raising(IndexError("empty")))
    assert (outcome.verdict, "IndexError" in outcome.why) == (NOT_APPLICABLE, True)
    for case, error in ((CASE, IndexError("x")), (empty, TypeError("argument gone"))):
        with pytest.raises(ReferenceFailed, match=type(error).__name__):
            settle(case, raising(error))


def test_a_known_difference_is_told_apart_and_may_not_agree() -> None:
    listed = Case(batch="more queries than keys", causal=False, window=(20, 5))
    roomy = Case(
        batch="more queries than keys", causal=False, window=(20, 5), spare_keys=2
    )
    differs = Outcome(listed, DISAGREED, "1 of 1 elements")
    assert explain("attention_ref", differs).verdict == KNOWN
    agrees = explain("attention_ref", Outcome(listed, AGREED))
    assert agrees.verdict == DISAGREED
    assert "listed as a known difference" in agrees.why
    assert explain("another", differs) == differs
    for case in (roomy, CASE):
        other = Outcome(case, DISAGREED, "1 of 1 elements")
        assert explain("attention_ref", other) == other


@pytest.mark.parametrize(("dtype", "half"), [(BF16, 2.0**-8), (FP16, 2.0**-11)])
def test_tolerance_is_one_rounding_and_little_more(
    dtype: torch.dtype, half: float
) -> None:
    tolerance = rounding(Problem.make(Case(dtype=dtype)), dtype)
    assert tolerance.relative == half
    # Of outputs that are about 0.1: less than fp16 resolves there.
    assert 1e-6 < tolerance.absolute < 2e-5, tolerance


def test_wide_values_are_the_stored_ones_with_their_descales() -> None:
    case = Case(dtype=torch.float8_e4m3fn, scales="row and head")
    problem = Problem.make(case)
    q_scale, k_scale, v_scale = problem.descales
    assert len({*k_scale.flatten().tolist()}) > 1, k_scale
    row, head, token = 2, 1, 7
    q, k, v = problem.rows()[row]
    slot = int(problem.inputs.slots[sum(case.k_lens[:row]) + token])
    for wide, pool, scale in (
        (k, problem.k_pool, k_scale),
        (v, problem.v_pool, v_scale),
    ):
        stored = pool[slot, head].double() * scale[row, head].double()
        assert torch.equal(wide[token, head].double(), stored)
    first = sum(case.q_lens[:row])
    stored = problem.inputs.q[first, 3].double() * q_scale[row, 1].double()
    assert torch.equal(q[0, 3].double(), stored)
