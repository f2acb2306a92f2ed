"""Functions are taken out of a checkout's file alone, and what is amiss is said."""

from __future__ import annotations

import subprocess
import traceback
from pathlib import Path

import pytest

from aiter_checkout.checkout import Checkout, ReferenceFailed
from page_size_eval.errors import CannotMeasure

FILE = "op_tests/test_thing.py"
SOURCE = """
import math
import pandas as pd
from aiter import dtypes
from einops import rearrange as turn

raise SystemExit("the file was run")

BASE = 3


def scaled(value, factor=2):
    return inner(value) * factor


def inner(value: dtypes.fp32) -> "pd.Series":
    return math.floor(value) + BASE + WIDTH


def turned(tensor):
    return turn(tensor, "a b -> b a")


def lost(value):
    return pd.concat(value)


def early(value, dtype=dtypes.fp8):
    return value


@decorated
def timed(value):
    return value


class Holder:
    def method(self):
        return 1
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    path = tmp_path / FILE
    path.parent.mkdir()
    path.write_text(SOURCE)
    return Checkout(tmp_path)


def test_takes_a_function_with_what_it_needs_and_runs_nothing_else(
    checkout: Checkout,
) -> None:
    taken = checkout.take(FILE, ["scaled"], {"WIDTH": 10})
    assert list(taken) == ["scaled"]
    assert taken["scaled"](1.5) == (1 + 3 + 10) * 2


def test_imports_are_followed_for_what_a_reference_may_use(checkout: Checkout) -> None:
    import torch

    taken = checkout.take(FILE, ["turned"], {})
    assert taken["turned"](torch.zeros(2, 3)).shape == (3, 2)


def test_a_name_that_is_left_out_is_met_where_it_is_called(checkout: Checkout) -> None:
    taken = checkout.take(FILE, ["lost"], {})
    with pytest.raises(ReferenceFailed, match="lost: NameError: .*pd") as caught:
        taken["lost"]([])
    assert isinstance(caught.value.error, NameError)


@pytest.mark.parametrize(("name", "unknown"), [("early", "dtypes"), ("timed", "deco")])
def test_a_definition_that_needs_another_name_is_refused(
    checkout: Checkout, name: str, unknown: str
) -> None:
    with pytest.raises(CannotMeasure, match=f"need .*torch alone, got.*{unknown}"):
        checkout.take(FILE, [name], {})


def test_traceback_points_into_the_checkout(checkout: Checkout) -> None:
    taken = checkout.take(FILE, ["lost"], {})
    with pytest.raises(ReferenceFailed) as caught:
        taken["lost"]([])
    *_, last = traceback.extract_tb(caught.value.error.__traceback__)
    assert last.filename == str(checkout.root / FILE)
    assert last.line == "return pd.concat(value)"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scale", "expected a function scale, got 6 other .*nearest scaled.*Next: "),
        ("Holder", "expected a function Holder, got"),
        ("BASE", "expected a function BASE, got"),
        ("method", "expected a function method, got"),
    ],
)
def test_a_missing_name_is_named_with_its_file(
    checkout: Checkout, name: str, message: str
) -> None:
    with pytest.raises(CannotMeasure, match=f"{FILE}: {message}"):
        checkout.take(FILE, ["inner", name], {})


def test_a_missing_file_is_named(checkout: Checkout) -> None:
    with pytest.raises(CannotMeasure, match="op_tests/gone.py: expected in .*Next: "):
        checkout.take("op_tests/gone.py", ["scaled"], {})


def test_a_file_that_is_no_python_is_named(checkout: Checkout) -> None:
    (checkout.root / FILE).write_text("def scaled(:\n")
    with pytest.raises(CannotMeasure, match=f"{FILE}: expected Python that .*line 1"):
        checkout.take(FILE, ["scaled"], {})


def test_what_is_no_checkout_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, got in (
        (tmp_path, "a folder with 1 entries and no op_tests"),
        (tmp_path / "file", "a file"),
        (tmp_path / "gone", "no such path"),
    ):
        with pytest.raises(CannotMeasure, match=f"expected an aiter .*got {got}"):
            Checkout(path)


def test_commit_is_that_of_the_checkout_and_of_no_repository_around_it(
    checkout: Checkout,
) -> None:
    root = checkout.root

    def git(*arguments: str) -> str:
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ["git", "-C", str(root), *author, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    assert checkout.commit() == git("rev-parse", "HEAD")
    assert len(checkout.commit()) == 40
    within = root / "within"
    (within / "op_tests").mkdir(parents=True)
    assert Checkout(within).commit() == "unknown"
