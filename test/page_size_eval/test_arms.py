"""Which servers a run compares."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_size_eval.arms import arms_at, arms_for
from page_size_eval.errors import CannotMeasure


def test_every_run_has_the_baseline_twice() -> None:
    labels = [arm.label for arm in arms_for([16])]
    assert labels == ["page 1", "page 1, again", "page 16"]


def test_page_64_comes_without_and_with_the_view() -> None:
    arms = arms_for([16, 64])[2:]
    assert [arm.label for arm in arms] == ["page 16", "page 64", "page 64, view"]
    assert [arm.gathers for arm in arms] == [True, True, False]
    view = [arm.environment()["SGLANG_AITER_PAGED_PREFILL_ASM"] for arm in arms]
    assert view == ["0", "0", "1"]


def test_page_1_alone_is_the_noise() -> None:
    assert [arm.label for arm in arms_for([1])] == ["page 1", "page 1, again"]


def test_slugs_differ() -> None:
    arms = arms_for([16, 64], Path("/other"))
    assert len({arm.slug for arm in arms}) == len(arms) == 8


def test_another_tree_is_shown_at_every_page_size_and_decides_nothing() -> None:
    arms = arms_for([16], Path("/other"))[3:]
    assert [arm.label for arm in arms] == ["page 1, unpatched", "page 16, unpatched"]
    assert not any(arm.gates for arm in arms)
    assert arms[0].environment()["PYTHONPATH"].startswith("/other")


def test_running_servers_are_named_by_where_they_listen() -> None:
    sizes = {"http://a:1": 1, "http://b:2": 64}
    arms = arms_at(["http://a:1", "view=http://b:2"], sizes.__getitem__)
    labels = ["page 1, a:1", "page 1, again, a:1", "page 64, view, b:2"]
    assert [arm.label for arm in arms] == labels


@pytest.mark.parametrize("urls", [["http://a:1"], ["http://a:1", "view=http://a:1"]])
def test_one_server_is_no_comparison(urls: list[str]) -> None:
    with pytest.raises(CannotMeasure, match="at least two, each once"):
        arms_at(urls, lambda url: 1)


def test_page_size_that_is_not_covered_is_refused() -> None:
    with pytest.raises(CannotMeasure, match="page size 3: expected one of 1, 2, 4"):
        arms_for([3])
