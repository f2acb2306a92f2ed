"""What is kept for the layers of a batch is dropped with the batch."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from producers import scheduling
from producers.chunks import attend, forward
from producers.grids import poison
from producers.kernels import GATHERED, record_kernels, require_reading
from producers.platform import load_aiter_backend
from producers.serving import Serving, serve

LAYERS = 3
pytestmark = pytest.mark.parametrize("page_size", [1, 16, 128], ids="page {}".format)


def start(serving: Serving, lens: list[int]) -> list[Any]:
    """Requests whose first chunk of 20 tokens is in the pool."""
    poison(serving)
    requests = [
        scheduling.submit(serving, str(i), range(1000 * i, 1000 * i + n))
        for i, n in enumerate(lens)
    ]
    batch = scheduling.extend(serving, requests, [20] * len(lens))
    with record_kernels():
        forward(serving, batch, range(len(lens)))
    for request in requests:
        scheduling.checkpoint(serving, request)
    return requests


def serve_layers(serving: Serving, batch: Any, numbers: list[int]) -> None:
    """All layers of a context chunk; each must read every sequence's own rows."""
    with record_kernels() as readings:
        forward(serving, batch, numbers)
        for _ in range(LAYERS - 1):
            attend(serving, batch, numbers)
    assert len(readings) == LAYERS
    for reading in readings:
        require_reading(reading, GATHERED, numbers, batch.seq_lens.tolist())


@pytest.mark.parametrize("host_lens", [True, False], ids=["ordinary", "validated"])
def test_next_batch_of_the_same_shape_reads_its_own_rows(
    page_size: int, host_lens: bool
) -> None:
    """Same lengths, same total: only the slots tell the batches apart."""
    with serve(page_size, 320 // page_size + 8) as serving:
        requests = start(serving, [57, 40, 57, 40])
        for first in (0, 2):
            mine = requests[first : first + 2]
            batch = scheduling.extend(serving, mine, [57, 40])
            if not host_lens:
                drop_host_lens(serving, batch)
            serve_layers(serving, batch, [first, first + 1])


def drop_host_lens(serving: Serving, batch: Any) -> None:
    """Let the indices be validated: SGLang itself needs the host's lengths before."""
    backend = serving.backend
    real = backend._asm_context_prefill_indices

    def without_host_lens(forward_batch: Any, bs: int, num_kv_slots: int) -> Any:
        with mock.patch.object(forward_batch, "seq_lens_cpu", None):
            return real(forward_batch, bs, num_kv_slots)

    backend._asm_context_prefill_indices = without_host_lens


def test_indices_are_made_once_for_all_layers(page_size: int) -> None:
    backend_module = load_aiter_backend()
    name = "_asm_context_prefill_gather_indices"
    with serve(page_size, 320 // page_size + 8) as serving:
        requests = start(serving, [57, 40, 57, 40])
        batch = scheduling.extend(serving, requests[:2], [57, 40])
        drop_host_lens(serving, batch)
        with mock.patch.object(
            backend_module, name, wraps=getattr(backend_module, name)
        ) as helper:
            serve_layers(serving, batch, [0, 1])
        assert helper.call_count == 1


def test_a_batch_that_fell_back_leaves_the_next_one_alone(page_size: int) -> None:
    counts = load_aiter_backend()._asm_context_prefill_counts
    with serve(page_size, 320 // page_size + 8) as serving:
        requests = start(serving, [57, 40, 57, 40])
        batch = scheduling.extend(serving, requests[:2], [57, 40])
        drop_host_lens(serving, batch)
        counts.clear()
        with record_kernels() as readings:
            serving.backend.init_forward_metadata(batch)
            serving.backend.forward_metadata.kv_indices[1] = serving.num_slots
            with pytest.raises(IndexError, match="kv_page_indices"):
                # The paged kernel then meets the same entry, and says so.
                attend(serving, batch, [0, 1])
        assert not readings and dict(counts) == {"slot_past_pool": 1}
        batch = scheduling.extend(serving, requests[2:], [57, 40])
        serve_layers(serving, batch, [2, 3])
        assert dict(counts) == {"slot_past_pool": 1, "hit": 1}
