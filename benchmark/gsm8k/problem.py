"""The form of a templated word problem, and how one is filled in."""

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass

from benchmark.gsm8k.words import ITEMS, NAMES, PLACES

# A result with at most three digits keeps the arithmetic within reach of a model
# of a few million parameters: the probe must fail for bad KV, not for hard sums.
LARGEST_RESULT = 999
# The same goes for sums and differences in which a number has one digit: they would
# be rare, and were all that a model trained with them got wrong (0.8 %).
SMALLEST_TERM = 10

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
}


@dataclass(frozen=True)
class Step:
    """One sum of the worked answer.

    `expression` is "left op right"; an operand is a number of the template (a, b,
    ...) or the result of an earlier step (r1, r2, ...). `{calc}` in `text` stands
    for the sum written out.
    """

    expression: str
    text: str


@dataclass(frozen=True)
class Template:
    """A family of problems that differ in names, things and numbers only."""

    key: str
    numbers: dict[str, tuple[int, int]]
    questions: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Problem:
    """One problem in gsm8k's record form, with what it was made from."""

    template: str
    numbers: tuple[int, ...]
    question: str
    answer: str

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        """What makes two problems the same sum, whatever the names in them."""
        return self.template, self.numbers

    def record(self) -> dict[str, str]:
        """The two fields of a gsm8k record."""
        return {"question": self.question, "answer": self.answer}


def fill(template: Template, rng: random.Random) -> Problem:
    """A problem of this template with words and numbers drawn from `rng`."""
    numbers, calculations = _draw_numbers(template, rng)
    name, other, third = rng.sample(NAMES, 3)
    words = {
        "name": name,
        "other": other,
        "third": third,
        "item": rng.choice(ITEMS),
        "place": rng.choice(PLACES),
    }
    question = rng.choice(template.questions).format(**words, **numbers)
    sentences = [
        step.text.format(**words, **numbers, calc=calculation)
        for step, (calculation, _) in zip(template.steps, calculations, strict=True)
    ]
    answer = "\n".join([*sentences, f"#### {calculations[-1][1]}"])
    return Problem(template.key, tuple(numbers.values()), question, answer)


def _draw_numbers(
    template: Template, rng: random.Random
) -> tuple[dict[str, int], list[tuple[str, int]]]:
    """Numbers for which every step is a sum that the model can learn."""
    while True:
        numbers = {
            name: rng.randint(low, high)
            for name, (low, high) in template.numbers.items()
        }
        calculations = _calculate(template.steps, numbers)
        if calculations is not None:
            return numbers, calculations


def _calculate(
    steps: tuple[Step, ...], numbers: dict[str, int]
) -> list[tuple[str, int]] | None:
    """Each step written out, with its result; None if a result is not usable."""
    values = dict(numbers)
    calculations: list[tuple[str, int]] = []
    for index, step in enumerate(steps, start=1):
        left_name, symbol, right_name = step.expression.split()
        left, right = values[left_name], values[right_name]
        result = OPERATIONS[symbol](left, right)
        if not _is_learnable(left, symbol, right, result):
            return None
        values[f"r{index}"] = result
        calculations.append((f"{left}{symbol}{right}={result}", result))
    return calculations


def _is_learnable(left: int, symbol: str, right: int, result: int) -> bool:
    """Whether a sum is exact and of a size that is common in training."""
    if symbol in "+-":
        smallest = min(left, right, result)
        return smallest >= SMALLEST_TERM and result <= LARGEST_RESULT
    is_exact = symbol == "*" or result * right == left
    return is_exact and 1 <= result <= LARGEST_RESULT
