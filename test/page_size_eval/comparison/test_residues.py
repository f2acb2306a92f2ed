"""Losses by prompt length modulo the page size."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fakes.measured_arms import BASELINE, change, measured
from page_size_eval.arms import Arm
from page_size_eval.comparison.pairing import pair
from page_size_eval.comparison.residues import Residues, split_by_residue
from page_size_eval.measured import MeasuredArm

N = 320


def split(
    page_size: int, lost: Iterable[int], gained: Iterable[int] = ()
) -> Residues | None:
    """Of prompts whose length is 1600 tokens and their doc_id."""
    first = measured(BASELINE, N, gained, tokens=lambda i: 1600 + i)
    other = measured(Arm(page_size), N, lost, tokens=lambda i: 1600 + i)
    return split_arms(first, other)


def split_arms(first: MeasuredArm, other: MeasuredArm) -> Residues | None:
    return split_by_residue(pair(first, other, "strict-match"), first, other)


def test_page_1_has_one_residue() -> None:
    assert split(1, [3]) is None


@pytest.mark.parametrize(
    ("page_size", "spans"),
    [
        (2, [(0, 0), (1, 1)]),
        (8, [(r, r) for r in range(8)]),
        (16, [(r, r + 1) for r in range(0, 16, 2)]),
        (64, [(r, r + 7) for r in range(0, 64, 8)]),
    ],
)
def test_classes_cover_the_page(page_size: int, spans: list[tuple[int, int]]) -> None:
    found = split(page_size, [])
    assert found is not None
    assert [(one.first, one.last) for one in found.classes] == spans
    assert [one.n for one in found.classes] == [N // len(spans)] * len(spans)
    assert (found.whole_pages.n, found.unknown) == (N // page_size, 0)


def test_flips_fall_into_their_class() -> None:
    found = split(16, lost=[0, 16, 35], gained=[7])
    assert found is not None
    first, second, fourth = (found.classes[i] for i in (0, 1, 3))
    assert (first.lost, first.right_before, first.right_after) == (2, 40, 38)
    assert (second.lost, second.gained) == (1, 0)
    assert (fourth.gained, fourth.right_before, fourth.right_after) == (1, 39, 40)
    assert (found.whole_pages.lost, found.whole_pages.n) == (2, 20)


def test_losses_of_some_residues_alone_are_found() -> None:
    # As in vLLM #50749: 21 losses, all in residues 0 to 8.
    clustered = [i for i in range(N) if i % 16 < 9][:105:5]
    found = split(16, clustered)
    assert found is not None and len(clustered) == 21
    assert found.p_value is not None and found.p_value < 0.02, found
    assert found == split(16, clustered), "seeded"


def test_two_classes_are_enough_for_a_p_value() -> None:
    found = split(2, range(0, 40, 2))
    assert found is not None and found.p_value is not None
    assert found.p_value < 0.001, found


def test_losses_everywhere_are_no_finding() -> None:
    found = split(16, range(0, N, 15))
    assert found is not None and found.p_value is not None
    assert found.p_value > 0.5, found


@pytest.mark.parametrize("lost", [[], range(N)], ids=["no loss", "all lost"])
def test_nothing_to_tell_apart_has_no_p_value(lost: Iterable[int]) -> None:
    found = split(16, lost)
    assert found is not None and found.p_value is None


def test_only_what_the_baseline_has_right_can_be_lost() -> None:
    # Wrong at first wherever the residue is high: nothing there could be lost.
    low = [i for i in range(N) if i % 16 < 8]
    high = [i for i in range(N) if i % 16 >= 8]
    first = measured(BASELINE, N, high, tokens=lambda i: i + 16)
    other = measured(Arm(16), N, [*high, *low[::6]], tokens=lambda i: i + 16)
    found = split_arms(first, other)
    assert found is not None and found.p_value is not None
    assert found.p_value > 0.2, found


def test_a_length_that_one_arm_lacks_is_the_other_s() -> None:
    def count(i: int) -> int:
        return i + 16

    first = measured(BASELINE, N, tokens=count)
    other = change(
        measured(Arm(16), N, [5, 6], tokens=count), {5: {"prompt_tokens": None}}
    )
    found = split_arms(change(first, {6: {"prompt_tokens": None}}), other)
    assert found is not None and found.unknown == 0
    assert [one.lost for one in found.classes] == [0, 0, 1, 1, 0, 0, 0, 0]


def test_a_length_that_both_arms_lack_is_counted() -> None:
    arms = [
        change(measured(arm, N), {5: {"prompt_tokens": None}})
        for arm in (BASELINE, Arm(16))
    ]
    found = split_arms(*arms)
    assert found is not None and found.unknown == 1
    assert sum(one.n for one in found.classes) == N - 1


def test_repeats_sum_shares_of_right_passes() -> None:
    first = measured(BASELINE, 32, [], [0], tokens=lambda i: i + 16)
    other = measured(Arm(16), 32, [0, 1], [0], tokens=lambda i: i + 16)
    found = split_arms(first, other)
    assert found is not None
    one = found.classes[0]
    assert (one.right_before, one.right_after, one.lost) == (3.5, 2.5, 2)
