"""Seeded streams of templated word problems in gsm8k's record form."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmark.gsm8k.problem import Problem, Template, fill
from benchmark.gsm8k.templates_three_step import THREE_STEP
from benchmark.gsm8k.templates_two_step import TWO_STEP

TEMPLATES: tuple[Template, ...] = TWO_STEP + THREE_STEP


@dataclass(frozen=True)
class HeldOut:
    """Problems that must not occur elsewhere: by their sum and by their text."""

    keys: frozenset[tuple[str, tuple[int, ...]]]
    questions: frozenset[str]

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> "HeldOut":
        """The held-out set of these problems."""
        kept = list(problems)
        return cls(
            frozenset(problem.key for problem in kept),
            frozenset(problem.question for problem in kept),
        )

    def __contains__(self, problem: Problem) -> bool:
        return problem.key in self.keys or problem.question in self.questions


NOTHING_HELD_OUT = HeldOut(frozenset(), frozenset())


def stream(
    rng: random.Random, held_out: HeldOut = NOTHING_HELD_OUT
) -> Iterator[Problem]:
    """Endless problems drawn from `rng`, none of them in `held_out`."""
    while True:
        problem = fill(rng.choice(TEMPLATES), rng)
        if problem not in held_out:
            yield problem


def distinct(problems: Iterator[Problem], count: int) -> list[Problem]:
    """The first `count` problems that differ in their sum and in their text."""
    found: list[Problem] = []
    keys: set[tuple[str, tuple[int, ...]]] = set()
    questions: set[str] = set()
    while len(found) < count:
        problem = next(problems)
        if problem.key in keys or problem.question in questions:
            continue
        keys.add(problem.key)
        questions.add(problem.question)
        found.append(problem)
    return found
