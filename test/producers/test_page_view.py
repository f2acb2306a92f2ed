"""The page-level view that replaces the gather at page size 64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from aiter_reference.page_table import PageTable
from producers import contract
from producers.features import PAGE_VIEW
from producers.grids import PAGE_SIZES, Served, serve_grid
from producers.kernels import GATHERED, require_reading
from producers.platform import load_aiter_backend

VIEW = 64


@pytest.fixture(autouse=True, scope="module")
def release_has_the_view() -> None:
    PAGE_VIEW.require()


@pytest.fixture(scope="module", params=[64, 128, 256], ids=lambda p: f"pool page {p}")
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    """Pools of one, two and four of the view's pages to a page of the allocator."""
    with serve_grid(request.param) as served:
        yield served


def build_view(
    served: Served, table: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    kv_indices = served.metadata.kv_indices if table is None else table
    view: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    view = load_aiter_backend()._build_paged_kv_view(
        kv_indices, served.batch.seq_lens_cpu, VIEW
    )
    return view


def read_slots(
    served: Served, view: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
) -> list[list[int]]:
    """The slots that the paged kernel reads for each sequence."""
    indptr, pages, last_lens = view
    counts = indptr[1:] - indptr[:-1]
    k_lens = (counts.long() - 1) * VIEW + last_lens
    starts = indptr[:-1].long()
    table = PageTable("", pages, starts, k_lens, VIEW, served.serving.num_slots // VIEW)
    return [
        table.slots(torch.tensor([row]), 0, n).flatten().tolist() if n else []
        for row, n in enumerate(k_lens.tolist())
    ]


def test_view_reads_every_tokens_slot(served: Served) -> None:
    assert read_slots(served, build_view(served)) == served.token_slots()


def test_view_is_what_the_contract_declares(served: Served) -> None:
    indptr, pages, last_lens = build_view(served)
    lens = served.lens
    total = sum(-(-n // VIEW) for n in lens)
    where = {"page_size": VIEW, "num_slots": served.serving.num_slots}
    contract.VIEW_INDPTR.check(indptr, len(lens) + 1, total=total, **where)
    contract.VIEW_PAGES.check(pages, total, **where)
    contract.VIEW_LAST_LENS.check(last_lens, len(lens), **where)
    assert len(pages) == total, "no tail"
    of_empty_rows = last_lens[torch.tensor(lens) == 0].tolist()
    assert of_empty_rows == [VIEW] * 3


@pytest.mark.parametrize("hostile", [-1, 2**31 - 1])
def test_tail_of_the_token_table_is_never_read(served: Served, hostile: int) -> None:
    table = served.metadata.kv_indices.clone()
    table[sum(served.lens) :] = hostile
    for got, want in zip(build_view(served, table), build_view(served), strict=True):
        assert torch.equal(got, want)


def test_table_without_slack_is_enough(served: Served) -> None:
    table = served.metadata.kv_indices[: sum(served.lens)].clone()
    assert read_slots(served, build_view(served, table)) == served.token_slots()


def test_backend_makes_the_view_at_page_size_64_alone() -> None:
    for page_size in PAGE_SIZES:
        with serve_grid(page_size) as served:
            made = served.metadata.paged_kv_view is not None
            assert made == (page_size == VIEW), page_size


def test_backends_own_view_is_the_one_tested_here() -> None:
    with serve_grid(VIEW) as served:
        view = served.metadata.paged_kv_view
        assert all(map(torch.equal, view, build_view(served)))


def test_without_the_view_page_64_is_gathered_to_the_same_rows() -> None:
    from sglang.srt.environ import envs

    view = envs.SGLANG_AITER_PAGED_PREFILL_ASM
    with view.override(False), serve_grid(VIEW) as served:
        assert served.metadata.paged_kv_view is None
        require_reading(served.readings[-1], GATHERED, served.owners, served.lens)
