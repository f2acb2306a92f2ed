"""A comparison, concluded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from page_size_eval.arms import Arm
from page_size_eval.comparison.arm_score import ArmScore, describe_arm
from page_size_eval.comparison.criteria import CONFIDENCE, GATING_FILTER, LEVEL
from page_size_eval.comparison.difference import Difference
from page_size_eval.comparison.residues import Residues
from page_size_eval.comparison.verdict import Verdict
from page_size_eval.comparison.wording import as_margin

ALL_EQUIVALENT, MEASURED_FAILURE, NOT_TOLD = 0, 1, 2

LINKS = {
    Verdict.EQUIVALENT: " is equivalent to {}",
    Verdict.WORSE: " is worse than {}",
    Verdict.BETTER: " is better than {}",
    Verdict.CANNOT_TELL: ": cannot tell:",
}


@dataclass(frozen=True)
class Pair:
    """One arm against the baseline.

    Attributes:
        by_filter: the difference under each filter of the task.
        p_holm: McNemar's p-value under the filter that decides, adjusted over the arms
            that decide; None for the baseline's second run and for arms that do not.
        reason: why the verdict is what it is.
        questions_to_tell: how many would settle an open verdict; None if it is settled,
            rests on the noise, or no reasonable number would do.
        more_flips_p: that it flips more often than the baseline does against itself;
            None without a second run. It does not decide.
        remark: the same in words, if it is so.
        residues: flips by prompt length modulo the page size; None at page size 1.
    """

    arm: Arm
    baseline: Arm
    by_filter: Mapping[str, Difference]
    p_holm: float | None
    verdict: Verdict
    reason: str
    questions_to_tell: int | None
    more_flips_p: float | None
    remark: str | None
    residues: Residues | None

    @property
    def gating(self) -> Difference:
        """Under the filter that decides."""
        return self.by_filter[GATING_FILTER]

    @property
    def p_flips(self) -> float:
        """The McNemar p-value that the verdict rests on."""
        return self.gating.p_mcnemar if self.p_holm is None else self.p_holm

    @property
    def sentence(self) -> str:
        """The verdict, and why."""
        shown = "" if self.arm.gates else "; shown, does not decide"
        link = LINKS[self.verdict].format(self.baseline.label)
        return f"{self.arm.label}{link} {self.reason}{shown}"

    def as_json(self) -> dict[str, Any]:
        """Every figure, the arm by its label."""
        figures = asdict(self)
        del figures["arm"]
        figures["baseline"] = self.baseline.label
        return {**describe_arm(self.arm), **figures}


@dataclass(frozen=True)
class Comparison:
    """Every arm, every pair, and what follows.

    Attributes:
        arms: the baseline first.
        pairs: the other arms, in their order.
        margin: differences up to it are equivalence; a share of the questions.
    """

    arms: tuple[ArmScore, ...]
    pairs: tuple[Pair, ...]
    margin: float

    @property
    def baseline(self) -> ArmScore:
        return self.arms[0]

    @property
    def noise(self) -> Pair | None:
        """The baseline against its own second run."""
        return next((pair for pair in self.pairs if pair.arm.again), None)

    @property
    def exit_status(self) -> int:
        """0 every deciding arm is equivalent, 1 one is worse or better, 2 otherwise."""
        verdicts = {pair.verdict for pair in self.pairs if pair.arm.gates}
        if verdicts & {Verdict.WORSE, Verdict.BETTER}:
            return MEASURED_FAILURE
        return ALL_EQUIVALENT if verdicts == {Verdict.EQUIVALENT} else NOT_TOLD

    @property
    def conclusion(self) -> str:
        """What the run says, by the arms that decide."""
        deciding = [pair for pair in self.pairs if pair.arm.gates]
        if self.exit_status == ALL_EQUIVALENT:
            labels = "; ".join(pair.arm.label for pair in deciding)
            return (
                f"equivalent to {self.baseline.arm.label} within"
                f" {as_margin(self.margin)}"
                f" ({GATING_FILTER}, {self.baseline.n} questions): {labels}"
            )
        telling = {Verdict.CANNOT_TELL}
        if self.exit_status == MEASURED_FAILURE:
            telling = {Verdict.WORSE, Verdict.BETTER}
        return "; ".join(pair.sentence for pair in deciding if pair.verdict in telling)

    def as_json(self) -> dict[str, Any]:
        """Everything, for results.json."""
        return {
            "gating_filter": GATING_FILTER,
            "margin": self.margin,
            "level": LEVEL,
            "confidence": CONFIDENCE,
            "passes": self.baseline.passes,
            "n": self.baseline.n,
            "exit_status": self.exit_status,
            "conclusion": self.conclusion,
            "arms": [arm.as_json() for arm in self.arms],
            "pairs": [pair.as_json() for pair in self.pairs],
        }
