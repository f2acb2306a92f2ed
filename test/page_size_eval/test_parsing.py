"""What the words of the command line mean, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_size_eval.errors import CannotMeasure
from page_size_eval.parsing import (
    parse_page_sizes,
    parse_server_arguments,
    parse_tree,
    parse_urls,
)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [(None, (16, 64)), ("", (16, 64)), ("16", (16,)), ("1, 64 16", (1, 64, 16))],
)
def test_page_sizes_are_numbers(text: str | None, sizes: tuple[int, ...]) -> None:
    assert parse_page_sizes(text) == sizes


def test_page_size_that_is_no_number_is_refused() -> None:
    with pytest.raises(CannotMeasure, match="'sixteen': expected numbers"):
        parse_page_sizes("sixteen")


def test_servers_arguments_stay_whole() -> None:
    hostile = "--served-model-name '$(touch pwned); `id`' --x=1"
    expected = ("--tp-size=8", "--served-model-name", "$(touch pwned); `id`", "--x=1")
    assert parse_server_arguments(8, hostile) == expected
    assert parse_server_arguments(1, None) == ()


@pytest.mark.parametrize(
    ("text", "instead"),
    [("--page-size 4", "PAGE="), ("--tp=2", "TP="), ("--model /m", "MODEL=")],
)
def test_argument_that_the_arms_set_is_refused(text: str, instead: str) -> None:
    with pytest.raises(CannotMeasure, match=f"Next: give {instead}"):
        parse_server_arguments(1, text)


def test_open_quotation_is_refused() -> None:
    with pytest.raises(CannotMeasure, match="No closing quotation"):
        parse_server_arguments(1, "--x 'y")


def test_urls_may_be_separated_by_commas() -> None:
    assert parse_urls("http://a:1,view=http://b:2") == ("http://a:1", "view=http://b:2")
    with pytest.raises(CannotMeasure, match="expected http://host:port"):
        parse_urls("a:1")


@pytest.mark.parametrize("given", ["", "python", "python/sglang"])
def test_tree_is_found_from_checkout_or_package(tmp_path: Path, given: str) -> None:
    attention = tmp_path / "python" / "sglang" / "srt" / "layers" / "attention"
    attention.mkdir(parents=True)
    (attention / "aiter_backend.py").write_text("")
    assert parse_tree(tmp_path / given) == tmp_path / "python"


def test_folder_without_sglang_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="found no sglang/srt"):
        parse_tree(tmp_path)
    assert parse_tree(None) is None
