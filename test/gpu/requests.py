"""Requests over shuffled pages on a GPU, and SGLang's own kernel that makes tables."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import torch

from benchmark.kv_gather.modules import load_file

KERNELS = Path("kernels/ops/attention/kv_indices.py")
CONTEXT = 4096
# A table is padded behind its last row, as the prefill producer does it.
PAD = 256


@dataclass(frozen=True)
class Requests:
    """A batch on the GPU.

    Attributes:
        req_to_token: [requests + 1, CONTEXT] int32 slots; -1 where no token is.
        rows: [requests] int64, row of each request in it, in another order.
        lens: [requests] int32, tokens of each.
        num_kv_slots: slots in the pool, both ends of which are in use.
    """

    req_to_token: torch.Tensor
    rows: torch.Tensor
    lens: torch.Tensor
    num_kv_slots: int

    @property
    def kv_indptr(self) -> torch.Tensor:
        """[requests + 1] int32 offsets, in tokens."""
        zero = self.lens.new_zeros(1)
        return torch.cat((zero, self.lens)).cumsum(0).to(torch.int32)

    def slots(self) -> torch.Tensor:
        """[total_k] int64: token t of request i is in req_to_token[rows[i], t]."""
        parts = [
            self.req_to_token[row, :length]
            for row, length in zip(self.rows.tolist(), self.lens.tolist(), strict=True)
        ]
        return torch.cat(parts).long()


def make_requests(lens: list[int], page_size: int, seed: int = 7) -> Requests:
    """Requests whose pages lie in any order, page 0 left out, the last one in use."""
    generator = torch.Generator().manual_seed(seed)
    counts = [-(-length // page_size) for length in lens]
    pages = 1 + torch.randperm(sum(counts) + 3, generator=generator)
    last = int(pages.max())
    taken = pages[: sum(counts)]
    # The first page and the last are live, whatever the shuffle took.
    if last not in taken:
        taken[0] = last
    table = torch.full((len(lens) + 1, CONTEXT), -1, dtype=torch.int32)
    rows = torch.randperm(len(lens) + 1, generator=generator)[: len(lens)]
    at = 0
    for row, length, count in zip(rows.tolist(), lens, counts, strict=True):
        first = taken[at : at + count, None] * page_size
        slots = (first + torch.arange(page_size)).flatten()[:length]
        table[row, :length] = slots.to(torch.int32)
        at += count
    return Requests(
        table.cuda(),
        rows.cuda(),
        torch.tensor(lens, dtype=torch.int32).cuda(),
        (last + 1) * page_size,
    )


def load_kernels() -> ModuleType:
    """SGLang's index kernels: of a released tree if SGLANG_RELEASES names one."""
    releases = os.environ.get("SGLANG_RELEASES")
    if releases:
        return load_file(Path(releases) / "0.5.23" / "sglang" / KERNELS)
    spec = importlib.util.find_spec("sglang")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs SGLang installed, or SGLANG_RELEASES naming its releases")
    return load_file(Path(spec.submodule_search_locations[0]) / KERNELS)


def make_table(requests: Requests, kernels: ModuleType) -> torch.Tensor:
    """[total_k + PAD] int32: kv_indices as SGLang's kernel writes it, then the pad."""
    indptr = requests.kv_indptr
    total = int(indptr[-1])
    table = torch.full((total + PAD,), -7, dtype=torch.int32, device="cuda")
    kernels.create_flashinfer_kv_indices_triton[(requests.lens.numel(),)](
        requests.req_to_token,
        requests.rows,
        requests.lens,
        indptr,
        None,
        table,
        requests.req_to_token.stride(0),
    )
    table[total:] = table[0]
    return table
