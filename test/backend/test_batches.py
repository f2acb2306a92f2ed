"""What a request is answered does not depend on what else is in the batch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from backend.bench import DECODE, EXTEND, Bench, require_right
from backend.branches import recorded
from backend.pools import FULL_LAYER
from backend.shapes import Setup
from backend.switches import switched

PREFIXES, TOKENS = [0, 5, 70, 64, 16, 1], [7, 1, 20, 64, 1, 1]
# One rounding of bfloat16: a kernel may order its sums by the shape of the batch.
STEP = 2.0**-8
SETUPS = {
    "gathered, page 1": Setup(page_size=1),
    "gathered, page 16": Setup(page_size=16),
    "page view": Setup(page_size=64),
    "head_dim 128": Setup(page_size=16, head_dim=128),
    "bfloat16": Setup(page_size=16, kv_dtype=torch.bfloat16),
    "unified": Setup(page_size=16, kv_dtype=torch.bfloat16),
    "window pool": Setup(page_size=16, window=20),
}


@pytest.fixture(params=SETUPS)
def setup(request: pytest.FixtureRequest) -> Iterator[Setup]:
    with switched(*(["unified"] if request.param == "unified" else [])):
        yield SETUPS[request.param]


@pytest.mark.parametrize("mode", [EXTEND, DECODE], ids=["extend", "decode"])
def test_alone_as_in_a_batch(mode: object, setup: Setup) -> None:
    bench = Bench(setup)
    tokens = TOKENS if mode == EXTEND else [1] * len(PREFIXES)
    # Decode after a prefix of no tokens is what follows a prompt of one.
    prefixes = PREFIXES if mode == EXTEND else [max(p, 1) for p in PREFIXES]
    parts = bench.take(bench.admit(prefixes), tokens)
    together = bench.run(parts, mode, keys=setup.window)
    require_right(together)
    first = 0
    for part in parts:
        rows = slice(first, first + part.tokens)
        alone = bench.run([part], mode, keys=setup.window)
        for one, all_ in zip(alone, together, strict=True):
            torch.testing.assert_close(one.got, all_.got[rows], rtol=STEP, atol=2e-5)
        first = rows.stop


def test_order_of_requests_is_of_no_effect(setup: Setup) -> None:
    bench = Bench(setup)
    parts = bench.take(bench.admit(PREFIXES), TOKENS)
    outputs = bench.run(parts, keys=setup.window)
    turned = bench.run(parts[::-1], keys=setup.window)
    require_right(outputs + turned)
    for output, other in zip(outputs, turned, strict=True):
        rows = torch.split(other.got, TOKENS[::-1])
        torch.testing.assert_close(
            torch.cat(rows[::-1]), output.got, rtol=STEP, atol=2e-5
        )


@pytest.mark.parametrize("pad_slot", [0, -1])
def test_padded_tokens_of_nan_are_neither_read_nor_written(
    pad_slot: int, setup: Setup
) -> None:
    bench = Bench(setup)
    requests = bench.admit(PREFIXES)
    parts = bench.take(requests, TOKENS)
    plain = bench.run(parts, keys=setup.window)
    before = [buffer.clone() for buffer in bench.pools.buffers(FULL_LAYER)]
    padded = bench.run_padded(parts, 3, pad_slot, keys=setup.window)
    for output, other in zip(padded, plain, strict=True):
        assert len(output.got) == sum(TOKENS) + 3
        assert torch.equal(output.got[:-3], other.got)
    for buffer, kept in zip(bench.pools.buffers(FULL_LAYER), before, strict=True):
        assert torch.equal(buffer.view(torch.uint8), kept.view(torch.uint8))
    require_right(bench.decode(requests, keys=setup.window))


def test_nothing_of_a_batch_survives_in_the_next(setup: Setup) -> None:
    """Longer, shorter, decode, longer again; what was served before is NaN by then."""
    bench = Bench(setup)
    kernels = []
    for prefixes, tokens in (
        (PREFIXES, TOKENS),
        ([3, 0], [2, 5]),
        ([40, 33, 1], None),
        ([5] * 8, [9] * 8),
    ):
        requests = bench.admit(prefixes)
        with recorded() as calls:
            if tokens is None:
                outputs = bench.decode(requests, keys=setup.window)
            else:
                outputs = bench.run(bench.take(requests, tokens), keys=setup.window)
        require_right(outputs)
        kernels += [call.kernel for call in calls]
        bench.pools.poison()
    assert len(kernels) == 4 * len(bench.layers)
