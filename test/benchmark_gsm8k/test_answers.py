"""Every answer is right: each template's formula is written here a second time."""

import random
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import islice

import pytest

from benchmark.gsm8k.generator import TEMPLATES, stream
from benchmark.gsm8k.problem import Problem, Template, fill

Formula = Callable[..., Fraction | int]

FORMULAS: dict[str, Formula] = {
    "buy_change": lambda a, b, c: c - a * b,
    "earn_spend": lambda a, b, c: a * b - c,
    "boxes_and_loose": lambda a, b, c: c + b * a,
    "bags_shared": lambda a, b, c: Fraction(a * b, c),
    "pool_and_pack": lambda a, b, c: Fraction(a + b, c),
    "lose_find": lambda a, b, c: a + c - b,
    "some_more": lambda a, b: 2 * a + b,
    "times_as_many": lambda a, b: a * (b + 1),
    "fewer_then_times": lambda a, b, c: a * c - b * c,
    "pages_left": lambda a, b, c: a - b * c,
    "saving_goal": lambda a, b, c: Fraction(a - b, c),
    "morning_afternoon": lambda a, b, c: a * c + b * c,
    "two_purchases_change": lambda a, b, c, d: d - c - a * b,
    "two_ticket_kinds": lambda a, b, c, d: a * b + c * d,
    "baskets_compared": lambda a, b, c, d: a * b - c * d,
    "rows_sold": lambda a, b, c, d: a * b * d - c * d,
    "pool_give_share": lambda a, b, c, d: Fraction(a + b - c, d),
    "times_then_more": lambda a, b, c: a * (b + 1) + c,
    "daily_earn_spend": lambda a, b, c: b * (a - c),
    "bus_stops": lambda a, b, c, d: a - b + c - d,
    "trays_boxed": lambda a, b, c, d: Fraction(a * b - c, d),
    "give_each_buy_more": lambda a, b, c, d: a + d - b * c,
    "tank_filled": lambda a, b, c, d: a - d - b * c,
    "meals_and_tip": lambda a, b, c, d: a * b + c + d,
}
SUM = re.compile(r"(\d+)([-+*/])(\d+)=(\d+)")


def _problems(template: Template, count: int = 200) -> list[Problem]:
    rng = random.Random(template.key)
    return [fill(template, rng) for _ in range(count)]


def test_formulas_cover_all_templates() -> None:
    keys = [template.key for template in TEMPLATES]
    assert sorted(keys) == sorted(FORMULAS), "each template needs one formula"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.key)
def test_final_number_equals_the_formula(template: Template) -> None:
    for problem in _problems(template):
        expected = FORMULAS[problem.template](*problem.numbers)
        stated = int(problem.answer.rsplit("#### ", 1)[1])
        assert stated == expected, f"{problem}"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.key)
def test_question_states_each_number_once(template: Template) -> None:
    for problem in _problems(template):
        stated = sorted(int(number) for number in re.findall(r"\d+", problem.question))
        assert stated == sorted(problem.numbers), f"{problem}"


def test_written_sums_are_right_and_lead_to_the_answer() -> None:
    for problem in islice(stream(random.Random(7)), 3000):
        *sentences, last = problem.answer.split("\n")
        result = ""
        for sentence in sentences:
            found = SUM.search(sentence)
            assert found, f"no sum in {sentence!r} of {problem}"
            left, symbol, right, result = found.groups()
            values = {
                "+": int(left) + int(right),
                "-": int(left) - int(right),
                "*": int(left) * int(right),
                "/": Fraction(int(left), int(right)),
            }
            assert values[symbol] == int(result), f"{sentence!r} of {problem}"
        assert last == f"#### {result}", f"{problem}"


def test_each_template_has_two_wordings_and_two_or_three_steps() -> None:
    for template in TEMPLATES:
        assert len(template.questions) >= 2, template.key
        assert len(template.steps) in (2, 3), template.key
