"""Several layers of one batch: what is kept for the batch is no layer's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.bench import Bench, require_right
from backend.branches import recorded
from backend.pools import DEAD_LAYER, FULL_LAYER
from backend.runner import make_layer
from backend.shapes import Setup
from backend.switches import switched

ASM = "flash_attn_varlen_fp8_pertensor_func: {} chunk, head_dim {}"
CHUNKS = [[20, 1, 33], [7, 30, 1]]


@pytest.mark.parametrize("page", [1, 16, 64])
@pytest.mark.parametrize("head_dim", [128, 256])
def test_every_layer_is_served_from_its_own_rows_and_scales(
    head_dim: int, page: int
) -> None:
    setup = Setup(page_size=page, head_dim=head_dim, k_scale=0.5, v_scale=0.25)
    # Half as large: fp8 holds what is stored as exactly.
    other = replace(setup, k_scale=0.25, v_scale=0.125)
    with switched("no view"), recorded() as calls:
        bench = Bench(setup)
        bench.layers.append(make_layer(other, DEAD_LAYER, None))
        bench.layer_ids.append(DEAD_LAYER)
        requests = bench.admit([0] * 3)
        for tokens in CHUNKS:
            require_right(bench.run(bench.take(requests, tokens)))
    assert [call.form for call in calls] == [
        ASM.format(chunk, head_dim) for chunk in ("first", "context") for _ in range(2)
    ]


@pytest.mark.parametrize("page", [1, 16])
def test_layers_are_found_by_the_number_that_their_pool_gives_them(page: int) -> None:
    """A pool of two counts its layers for itself; here the model counts them turned."""
    bench = Bench(Setup(page_size=page, window=20))
    mapping = bench.pools.kv.layers_mapping
    mapping[DEAD_LAYER], mapping[FULL_LAYER] = mapping[FULL_LAYER], mapping[DEAD_LAYER]
    bench.pools.poison()
    requests = bench.admit([40, 5, 70])
    with recorded() as calls:
        for tokens in CHUNKS:
            require_right(bench.run(bench.take(requests, tokens), keys=20))
        require_right(bench.decode(requests, keys=20))
    assert [call.kernel for call in calls[::2]] == [
        *["flash_attn_varlen_fp8_pertensor_func"] * 2,
        "unified_attention",
    ]
