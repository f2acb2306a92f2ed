"""Faults of the metadata that are neither in the first row nor in the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from sglang.srt.layers.attention import aiter_backend
from torch.overrides import TorchFunctionMode

T = torch.tensor
gather = aiter_backend._asm_context_prefill_gather_indices


@pytest.mark.parametrize(
    ("kv_indptr", "table", "lens", "expected"),
    [
        # Empty rows that start past the table, one of them last.
        ([0, 2, 9, 9], [4, 6], [2, 0, 0], [4, 6]),
        # A row that ends at the table, in an indptr that goes on.
        ([0, 2, 9], [4, 6, 1, 3], [2, 2], [4, 6, 1, 3]),
    ],
)
def test_only_what_is_read_has_to_be_there(
    kv_indptr: list[int], table: list[int], lens: list[int], expected: list[int]
) -> None:
    gathered = gather(T(kv_indptr), T(table), T(lens), 8)
    assert gathered is not None
    assert gathered[0].tolist() == expected


@pytest.mark.parametrize(
    ("kv_indptr", "table", "lens", "reason", "value"),
    [
        ([0, 2, 3], [4, 6], [2, 1], "row_past_table", 3),
        ([0, 5, 5], [4, 6], [5, 0], "row_past_table", 5),
        ([0, 3, 1, 4], [0, 1, 2, 3], [1, 1, 1], "decreasing_kv_indptr", -2),
        ([-1, 2, 4], [0, 1, 2, 3], [1, 1], "negative_kv_indptr", -1),
        ([0, 2, 4], [0, 1, 2, 3], [-3, 2], "negative_seq_len", -3),
    ],
)
def test_fault_in_any_row_falls_back(
    kv_indptr: list[int],
    table: list[int],
    lens: list[int],
    reason: str,
    value: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert gather(T(kv_indptr), T(table), T(lens), 8) is None
    assert f"{reason} (value={value} " in caplog.text


@pytest.mark.parametrize(
    ("excess", "longest"), [([5, 0], 5), ([0, 1], 1), ([5, -2], 5)]
)
def test_warning_of_a_cut_names_the_longest_excess(
    excess: list[int], longest: int, caplog: pytest.LogCaptureFixture
) -> None:
    gather(T([0, 3, 6]), torch.arange(6), T([3, 3]) + T(excess), 8)
    assert f"excess {longest} tokens" in caplog.text


class Waits(TorchFunctionMode):
    """Keeps the calls that would make a GPU's host wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        reads = {"tolist", "item", "__bool__", "__int__", "__index__", "nonzero"}
        unsized = name == "repeat_interleave" and "output_size" not in kwargs
        if name in reads or unsized:
            self.seen.append(name)
        return func(*args, **kwargs)


def test_waits_for_the_device_at_most_twice() -> None:
    with Waits() as waits:
        gather(T([0, 2, 4]), T([4, 6, 1, 3]), T([2, 2]), 8)
    assert waits.seen == ["tolist", "tolist"]
