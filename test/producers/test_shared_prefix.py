"""Prefixes from the radix cache: another request's pages at the head of the table."""

from __future__ import annotations

import pytest
import torch

from producers import scheduling
from producers.chunks import forward
from producers.features import PAGE_VIEW
from producers.grids import PAGE_SIZES, poison
from producers.kernels import GATHERED, PAGED, record_kernels, require_reading
from producers.serving import Serving, serve
from producers.signatures import K, V, make_rows, require_rows


def first_request(serving: Serving, length: int) -> None:
    """Request 0, computed, finished and kept in the radix cache."""
    request = scheduling.submit(serving, "0", range(length))
    batch = scheduling.extend(serving, [request], [length])
    with record_kernels():
        forward(serving, batch, [0])
    scheduling.release(serving, request, keep=True)


@pytest.mark.parametrize("page_size", PAGE_SIZES, ids="page {}".format)
def test_cached_pages_come_first_in_a_batch_with_and_without_prefix(
    page_size: int,
) -> None:
    """Prefixes of one page, two and three, of half a page too many, and of none."""
    p = page_size
    length, half = 3 * p, p // 2
    shared = [p, 0, 2 * p, p + half, 3 * p]
    with serve(page_size, 32, context_len=2048) as serving:
        poison(serving)
        first_request(serving, length)
        requests = [
            scheduling.submit(
                serving, str(i), [*range(n), *range(1000 * i, 1000 * i + p + 1)]
            )
            for i, n in enumerate(shared, start=1)
        ]
        cached = [n // p * p for n in shared]
        assert [scheduling.prefix_len(request) for request in requests] == cached
        ends = [request.seqlen for request in requests]
        batch = scheduling.extend(serving, requests, ends)
        with record_kernels() as readings:
            forward(serving, batch, range(1, len(requests) + 1))
        (reading,) = readings
        has_view = page_size == 64 and PAGE_VIEW.here()
        assert reading.kernel == (PAGED if has_view else GATHERED)
        for i, (prefix, end) in enumerate(zip(cached, ends, strict=True)):
            for kind, rows in ((K, reading.k[i]), (V, reading.v[i])):
                want = make_rows(kind, [0, i + 1], [0, prefix], [prefix, end])
                require_rows(rows, want)


def test_pages_are_shared_within_the_prefix_and_nowhere_else() -> None:
    with serve(16, 32) as serving:
        first_request(serving, 48)
        requests = [
            scheduling.submit(serving, str(i), [*range(40), *[1000 * i] * 20])
            for i in (1, 2)
        ]
        batch = scheduling.extend(serving, requests, [60, 60])
        a, b = serving.req_to_token[batch.req_pool_indices, :60].tolist()
        assert a[:32] == b[:32]
        assert not set(a) & set(b[32:]) and not set(b) & set(a[32:])


def test_evicted_pages_are_handed_out_again_and_read_as_the_new_tokens() -> None:
    """The pool has room for one of the two requests at a time."""
    with serve(16, 8) as serving:
        poison(serving)
        first_request(serving, 6 * 16)
        before = scheduling.cached_tokens(serving)
        request = scheduling.submit(serving, "1", range(5000, 5000 + 100))
        slots = set()
        for end in (50, 100):
            batch = scheduling.extend(serving, [request], [end])
            with record_kernels() as readings:
                forward(serving, batch, [1])
            scheduling.checkpoint(serving, request)
            slots |= set(serving.req_to_token[request.kv.req_pool_idx, :end].tolist())
        assert before == 96 and scheduling.cached_tokens(serving) < before + 100
        require_reading(readings[0], GATHERED, [1], [100])
        assert len(slots) == 100
        assert torch.equal(
            serving.backend.forward_metadata.kv_indices[:100].sort().values,
            torch.tensor(sorted(slots), dtype=torch.int32),
        )
