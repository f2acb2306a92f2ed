"""Whole comparisons: each verdict, the noise floor, the exit status."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from fakes.measured_arms import AGAIN, BASELINE, measured
from page_size_eval.arms import Arm
from page_size_eval.comparison.comparison import compare
from page_size_eval.comparison.outcome import Comparison
from page_size_eval.comparison.verdict import Verdict
from page_size_eval.errors import CannotMeasure

N = 1000


def run(
    *wrong: Iterable[int],
    n: int = N,
    again: Iterable[int] = (),
    base: Iterable[int] = (),
    margin: float | None = None,
) -> Comparison:
    """Page 1 and its second run, then page sizes 2, 4, 8 with these doc_ids wrong."""
    others = [measured(Arm(2 << i), n, one) for i, one in enumerate(wrong)]
    arms = [measured(BASELINE, n, base), measured(AGAIN, n, again), *others]
    return compare(arms, margin)


def verdicts(comparison: Comparison) -> list[Verdict]:
    return [pair.verdict for pair in comparison.pairs]


def test_arms_within_the_margin_are_equivalent() -> None:
    comparison = run(range(4), range(2), base=range(3))
    assert verdicts(comparison) == [Verdict.EQUIVALENT] * 3
    assert comparison.exit_status == 0
    assert comparison.conclusion == (
        "equivalent to page 1 within 2 points (strict-match, 1000 questions):"
        " page 1, again; page 2; page 4"
    )


def test_a_clear_loss_within_the_margin_is_equivalent_and_said() -> None:
    comparison = run(range(8))
    pair = comparison.pairs[1]
    assert pair.p_holm is not None and pair.p_holm < 0.05
    assert (pair.verdict, comparison.exit_status) == (Verdict.EQUIVALENT, 0)
    assert "a loss of 0.8 points is clear (8 lost, 0 gained" in pair.sentence


def test_a_loss_beyond_the_margin_is_worse() -> None:
    comparison = run(range(4), range(180))
    assert verdicts(comparison)[1:] == [Verdict.EQUIVALENT, Verdict.WORSE]
    assert comparison.exit_status == 1
    assert comparison.conclusion.startswith(
        "page 4 is worse than page 1 by 18.0 points (180 lost, 0 gained"
    )
    assert "page 2" not in comparison.conclusion


def test_a_gain_beyond_the_margin_is_a_failure_of_page_1() -> None:
    comparison = run((), base=range(180), again=range(180))
    assert verdicts(comparison) == [Verdict.EQUIVALENT, Verdict.BETTER]
    assert comparison.exit_status == 1
    assert comparison.conclusion.endswith("page 1 is not a safe baseline")


def test_what_is_neither_is_open_and_says_what_would_tell() -> None:
    # 28 lost, 16 gained: 1.2 points, whose interval reaches over the margin.
    comparison = run(range(16, 44), base=range(16), again=range(16))
    pair = comparison.pairs[1]
    assert (pair.verdict, comparison.exit_status) == (Verdict.CANNOT_TELL, 2)
    assert pair.questions_to_tell is not None and pair.questions_to_tell > N
    assert f"about {pair.questions_to_tell:,} questions" in comparison.conclusion
    assert "would show equivalence" in comparison.conclusion


def test_a_loss_that_may_be_chance_says_what_would_show_it() -> None:
    comparison = run(range(5), n=200)
    pair = comparison.pairs[1]
    assert pair.verdict is Verdict.CANNOT_TELL
    assert "-2.5 [" in pair.reason and "may be chance" in pair.reason
    assert "would show a difference" in pair.reason
    # 6 flips one way.
    assert pair.questions_to_tell in range(201, 241)


def test_a_margin_out_of_reach_says_so() -> None:
    arms = [measured(BASELINE, N), measured(Arm(16), N, [0])]
    comparison = compare(arms, margin=0.0010001)
    assert comparison.pairs[0].questions_to_tell is None
    assert "more than 100,000 questions" in comparison.conclusion


@pytest.mark.parametrize("lost", [0, 3, 30])
def test_not_significant_is_never_called_equal(lost: int) -> None:
    comparison = run(range(lost, 2 * lost), n=100, base=range(lost))
    assert comparison.exit_status == 2
    for pair in comparison.pairs[1:]:
        assert pair.gating.p_mcnemar > 0.05
        assert pair.sentence.startswith("page 2: cannot tell: ")
        assert not {"equal", "same", "equivalent"} & set(pair.sentence.split())


def test_holm_counts_the_arms_that_can_fail() -> None:
    # 7 of 200 lost, 2 / 2**7 = 0.0156 alone, over 0.05 among four.
    arms = [measured(Arm(2 << i), 200, range(7 if i == 0 else 0)) for i in range(4)]
    beside = [measured(BASELINE, 200), measured(AGAIN, 200)]
    alone = compare([*beside, arms[0]]).pairs[1]
    among = compare([*beside, *arms]).pairs[1]
    assert alone.p_holm == pytest.approx(2 / 2**7)
    assert among.p_holm == pytest.approx(4 * 2 / 2**7)
    assert (alone.verdict, among.verdict) == (Verdict.WORSE, Verdict.CANNOT_TELL)


def test_holm_counts_in_what_would_tell() -> None:
    # Alone 6 flips one way would do, 4 x 2 / 2**8 asks for 8.
    arms = [measured(Arm(2 << i), 200, range(5 if i == 0 else 0)) for i in range(4)]
    alone = compare([measured(BASELINE, 200), arms[0]]).pairs[0]
    among = compare([measured(BASELINE, 200), *arms]).pairs[0]
    assert (alone.questions_to_tell, among.questions_to_tell) == (220, 300)


def test_the_second_run_and_unpatched_arms_are_not_adjusted() -> None:
    tree = Arm(16, tree=Path("elsewhere"))
    arms = [measured(arm, 200, range(7)) for arm in (Arm(16), AGAIN, tree)]
    comparison = compare([measured(BASELINE, 200), *arms])
    assert [pair.p_holm is None for pair in comparison.pairs] == [False, True, True]
    assert comparison.pairs[0].p_holm == comparison.pairs[0].gating.p_mcnemar


def test_an_unpatched_arm_is_shown_and_does_not_decide() -> None:
    unpatched = measured(Arm(16, tree=Path("elsewhere")), N, range(500))
    arms = [measured(BASELINE, N), measured(AGAIN, N), measured(Arm(16), N), unpatched]
    comparison = compare(arms)
    assert comparison.pairs[2].verdict is Verdict.WORSE
    assert comparison.pairs[2].sentence.endswith("shown, does not decide")
    assert comparison.exit_status == 0
    assert "unpatched" not in comparison.conclusion
    assert compare([arms[0], unpatched]).exit_status == 2, "nothing decides"


def test_noise_beyond_the_margin_leaves_nothing_equivalent() -> None:
    comparison = run((), again=range(40))
    assert verdicts(comparison) == [Verdict.CANNOT_TELL] * 2
    assert comparison.exit_status == 2
    assert comparison.pairs[1].gating.p_equivalence < 0.05
    assert "page 1 may lie 5.4 points from its own second run" in comparison.conclusion


def test_the_second_run_is_never_worse_only_too_noisy() -> None:
    noise = run((), again=range(180)).noise
    assert noise is not None and noise.gating.p_mcnemar < 1e-9
    assert noise.verdict is Verdict.CANNOT_TELL
    assert "-18.0 [" in noise.reason and "between two runs of page 1" in noise.reason


def test_a_loss_against_one_run_of_page_1_alone_is_noise() -> None:
    comparison = run(range(40), again=range(40))
    assert comparison.pairs[1].gating.p_mcnemar < 1e-9
    assert verdicts(comparison) == [Verdict.CANNOT_TELL] * 2


def test_a_loss_against_both_runs_of_page_1_is_a_loss() -> None:
    # So a short run finds a broken path, though it could not show equivalence.
    comparison = run(range(30), (), n=50)
    assert verdicts(comparison) == [
        Verdict.CANNOT_TELL,
        Verdict.WORSE,
        Verdict.CANNOT_TELL,
    ]
    assert comparison.exit_status == 1
    assert "likewise against page 1's second run" in comparison.conclusion


def test_without_a_second_run_the_pairs_stand_alone() -> None:
    comparison = compare([measured(BASELINE, N), measured(Arm(16), N)])
    assert comparison.noise is None and comparison.exit_status == 0
    assert comparison.pairs[0].more_flips_p is None


def test_more_flips_than_the_noise_are_a_remark() -> None:
    # 12 flips each way, none between the two runs of page 1.
    comparison = run(range(12, 24), range(3), base=range(12), again=range(12))
    first, second = comparison.pairs[1:]
    assert first.remark == "flips 24 answers, page 1 against itself 0 (p = 5e-08)"
    assert (first.verdict, comparison.exit_status) == (Verdict.EQUIVALENT, 0)
    assert second.remark is not None and comparison.pairs[0].remark is None


def test_as_many_flips_as_the_noise_are_no_remark() -> None:
    pair = run(range(6, 12), base=range(6), again=range(12, 18)).pairs[1]
    assert pair.more_flips_p is not None and pair.more_flips_p > 0.5
    assert pair.remark is None


def test_three_passes_halve_the_margin() -> None:
    def arms(passes: int) -> Comparison:
        wrong = [range(3)] * passes
        first = measured(BASELINE, N, *[()] * passes)
        return compare([first, measured(Arm(16), N, *wrong)])

    assert [arms(passes).margin for passes in (1, 2, 3)] == [0.02, 0.02, 0.01]
    assert "within 1 point (" in arms(3).pairs[0].sentence


def test_repeats_are_judged_by_question() -> None:
    passes = [range(100), range(50), range(100)]
    comparison = compare(
        [measured(BASELINE, N, (), (), ()), measured(Arm(16), N, *passes)]
    )
    pair = comparison.pairs[0]
    assert (pair.verdict, pair.gating.table.lost) == (Verdict.WORSE, 100)
    assert pair.gating.estimate == pytest.approx(-250 / 3 / N)


def test_page_size_1_alone_is_its_own_verdict() -> None:
    assert run().exit_status == 0
    assert run(again=range(40)).exit_status == 2


@pytest.mark.parametrize(
    ("arms", "margin", "why"),
    [
        ([BASELINE], None, "page 1: expected at least two arms"),
        ([], None, "no arm: expected at least two arms"),
        ([BASELINE, AGAIN], 0.0, "margin 0 points: expected more than 0"),
        ([BASELINE, AGAIN], 1.5, "margin 150 points: expected more than 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    arms: list[Arm], margin: float | None, why: str
) -> None:
    with pytest.raises(CannotMeasure, match=f"{why}.*Next:"):
        compare([measured(arm, 10) for arm in arms], margin)


@pytest.mark.parametrize(("wrong", "refused"), [(50, False), (51, True)])
def test_a_baseline_with_little_to_lose_is_refused(wrong: int, refused: bool) -> None:
    arms = [measured(BASELINE, 100, range(wrong)), measured(Arm(16), 100)]
    if not refused:
        assert compare(arms).exit_status == 1
        return
    with pytest.raises(CannotMeasure, match="scores 0.4900 .*a loss would not show"):
        compare(arms)


def test_json_holds_every_figure() -> None:
    comparison = run(range(180))
    content = json.loads(json.dumps(comparison.as_json()))
    assert content["exit_status"] == 1 and content["gating_filter"] == "strict-match"
    assert (content["margin"], content["n"], content["passes"]) == (0.02, N, 1)
    first, _, third = content["arms"]
    assert first["arm"] == "page 1" and third["counts"]["wrong"] == 180
    assert third["accuracy"]["strict-match"]["share"] == pytest.approx(0.82)
    pair = content["pairs"][1]
    assert (pair["arm"], pair["baseline"], pair["verdict"]) == (
        "page 2",
        "page 1",
        "worse",
    )
    assert pair["by_filter"]["flexible-extract"]["table"]["lost"] == 180
    assert len(pair["by_filter"]["strict-match"]["interval"]) == 2
    assert pair["residues"]["classes"][0]["lost"] == 180
    assert pair["p_holm"] < 1e-9
