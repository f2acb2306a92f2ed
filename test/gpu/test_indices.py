"""Producer to consumer on a GPU: SGLang's kernel, our helper, what they wait for."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

from benchmark.kv_gather.modules import BACKEND_FILE, load_file
from benchmark.kv_gather.timing import count_synchronisations
from gpu.requests import Requests, load_kernels, make_requests, make_table
from overlay.batches import extend_batch

LENS = [1000, 33, 1, 64, 0, 513]


@pytest.fixture(scope="module")
def backend() -> ModuleType:
    return load_file(BACKEND_FILE)


@pytest.fixture(scope="module")
def kernels() -> ModuleType:
    return load_kernels()


@pytest.mark.parametrize("page_size", [1, 2, 16, 32, 64, 128, 256])
def test_helper_gives_every_token_its_slot(
    page_size: int, backend: ModuleType, kernels: ModuleType
) -> None:
    requests = make_requests(LENS, page_size)
    table = make_table(requests, kernels)
    got = call(backend, requests, table)
    assert got is not None
    expected = requests.slots()
    wrong = (got[0] != expected).nonzero().flatten()
    assert wrong.numel() == 0, (page_size, wrong[:5].tolist(), got[0], expected)
    assert got[1].tolist() == requests.kv_indptr.tolist()


@pytest.mark.parametrize("lens_on", ["cuda", "cpu"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_helper_waits_twice_at_most(
    lens_on: str, dtype: torch.dtype, backend: ModuleType, kernels: ModuleType
) -> None:
    requests = make_requests(LENS, 16)
    table = make_table(requests, kernels).to(dtype)
    indptr, lens = requests.kv_indptr.to(dtype), requests.lens.to(lens_on)
    slots = requests.num_kv_slots

    def gather() -> Any:
        return backend._asm_context_prefill_gather_indices(indptr, table, lens, slots)

    assert gather() is not None
    # Both waits are needed: a run that counts none has not counted.
    assert 1 <= count_synchronisations(gather) <= 2


@pytest.mark.parametrize(("at", "slot"), [(0, -1), (100, 10**6)])
def test_slot_outside_the_pool_is_refused(
    at: int, slot: int, backend: ModuleType, kernels: ModuleType
) -> None:
    requests = make_requests(LENS, 16)
    table = make_table(requests, kernels)
    table[at] = slot
    assert call(backend, requests, table) is None


def test_row_past_the_table_is_refused(
    backend: ModuleType, kernels: ModuleType
) -> None:
    requests = make_requests(LENS, 16)
    total = int(requests.kv_indptr[-1])
    table = make_table(requests, kernels)[: total - 1]
    assert call(backend, requests, table) is None


def test_ordinary_batch_waits_for_nothing(backend: ModuleType) -> None:
    fake, batch = extend_batch([40, 7, 100])
    metadata = fake.forward_metadata
    metadata.kv_indptr = metadata.kv_indptr.cuda()
    metadata.kv_indices = metadata.kv_indices.cuda()
    batch.seq_lens = batch.seq_lens.cuda()
    method = backend.AiterAttnBackend._asm_context_prefill_indices

    def layers() -> None:
        metadata.asm_ctx_ready = False
        for _ in range(15):
            method(fake, batch, batch.batch_size, 1024)

    layers()
    assert count_synchronisations(layers) == 0
    assert metadata.asm_ctx_tok_idx.tolist() == metadata.kv_indices[:147].tolist()
    assert metadata.asm_ctx_cu_k.tolist() == [0, 40, 47, 147]


def call(backend: ModuleType, requests: Requests, table: torch.Tensor) -> Any:
    return backend._asm_context_prefill_gather_indices(
        requests.kv_indptr, table, requests.lens, requests.num_kv_slots
    )
