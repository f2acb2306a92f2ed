"""Every table that is declared is also checked against the one that is made."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from producers import contract
from producers.contract import TABLES, Table

WHERE = {"page_size": 16, "num_slots": 160}


def test_every_declaration_is_checked_by_a_test() -> None:
    tests = "".join(
        path.read_text()
        for path in Path(__file__).parent.glob("test_*.py")
        if path != Path(__file__)
    )
    names = [name for name, value in vars(contract).items() if isinstance(value, Table)]
    assert len(names) == len(TABLES) == 15
    unchecked = [name for name in names if f"contract.{name}" not in tests]
    assert not unchecked


def test_markdown_has_one_line_for_each_table() -> None:
    lines = contract.markdown().splitlines()
    assert len(lines) == 2 + len(TABLES)
    assert {line.count(" | ") for line in lines} == {8}


@pytest.mark.parametrize(
    ("table", "values", "live", "total"),
    [
        (contract.KV_INDICES, [16, 159, 15], 3, None),
        (contract.KV_INDICES, [16, 160], 2, None),
        (contract.KV_INDICES, [16, -1], 2, None),
        (contract.KV_INDICES, [16], 2, None),
        (contract.VIEW_PAGES, [1, 0], 2, None),
        (contract.VIEW_PAGES, [1, 10], 2, None),
        (contract.VIEW_LAST_LENS, [16, 0], 2, None),
        (contract.VIEW_LAST_LENS, [16, 17], 2, None),
        (contract.KV_INDPTR, [1, 3], 2, 3),
        (contract.KV_INDPTR, [0, 3], 2, 4),
        (contract.KV_INDPTR, [0, 3, 2, 4], 4, 4),
    ],
)
def test_check_refuses(
    table: Table, values: list[int], live: int, total: int | None
) -> None:
    with pytest.raises(AssertionError):
        table.check(torch.tensor(values, dtype=torch.int32), live, total=total, **WHERE)


def test_check_refuses_another_dtype() -> None:
    with pytest.raises(AssertionError, match="int64"):
        contract.KV_INDICES.check(torch.tensor([16]), 1, **WHERE)


def test_check_passes_what_is_declared() -> None:
    contract.KV_INDICES.check(torch.tensor([16, 159, -1]).int(), 2, **WHERE)
    pages = torch.tensor([[1, 9, 0], [3, 0, 0]]).int()
    contract.PAGE_TABLE.check(pages, [2, 1], **WHERE)
    contract.KV_INDPTR.check(torch.tensor([0, 3, 3, 9]).int(), 3, total=3, **WHERE)
