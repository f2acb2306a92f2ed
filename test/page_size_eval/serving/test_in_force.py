"""What two servers may differ in."""

from __future__ import annotations

import pytest

from page_size_eval.errors import CannotMeasure
from page_size_eval.serving.in_force import (
    read_in_force,
    require_arguments,
    require_equal,
)

INFO = {
    "page_size": 16,
    "chunked_prefill_size": 256,
    "kv_cache_dtype": "fp8_e4m3",
    "version": "0.5.23",
    "port": 1,
    "served_model_name": "a",
}


def test_page_size_and_the_port_may_differ() -> None:
    other = read_in_force({**INFO, "page_size": 1, "port": 2, "served_model_name": "b"})
    require_equal(read_in_force(INFO), other, "page 1")


@pytest.mark.parametrize(
    ("name", "value"),
    [("chunked_prefill_size", 512), ("version", "0.5.22"), ("new_option", True)],
)
def test_any_other_difference_is_refused_with_both_values(
    name: str, value: object
) -> None:
    with pytest.raises(CannotMeasure, match=rf"page 16: .*{name} .*{value}"):
        require_equal(read_in_force(INFO), {**INFO, name: value}, "page 16")


def test_another_tree_may_be_of_another_version() -> None:
    other = {**INFO, "version": "0.5.22", "new_option": True}
    require_equal(read_in_force(INFO), read_in_force(other), "p", other_tree=True)
    other["kv_cache_dtype"] = "auto"
    with pytest.raises(CannotMeasure, match="kv_cache_dtype"):
        require_equal(read_in_force(INFO), read_in_force(other), "p", other_tree=True)


def test_argument_that_was_reset_is_refused() -> None:
    with pytest.raises(CannotMeasure, match="expected page_size=64 in force, got 16"):
        require_arguments(INFO, {"page_size": 64})
