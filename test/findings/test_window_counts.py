"""How many keys a window layer sees, kernel by kernel."""

from __future__ import annotations

from typing import Any

import pytest

from backend.bench import Bench, Output, require_right
from backend.branches import recorded
from backend.shapes import Setup
from backend.switches import switched

# sliding_window_size is the model's window less one (gpt-oss, Gemma): a query sees its
# own key and as many before it, as under FA3.
WINDOW = 3
KEYS = WINDOW + 1


def few(keys: int) -> Any:
    return pytest.mark.xfail(
        strict=True,
        raises=AssertionError,
        reason=f"upstream: sgl-project/sglang#34354 asks for it; {keys} of {KEYS}",
    )


CASES = [
    pytest.param("mha_batch_prefill_func", {"layer_window": WINDOW}, (), id="paged"),
    pytest.param(
        "unified_attention", {"window": WINDOW}, (), id="unified", marks=few(WINDOW)
    ),
    pytest.param("mha_batch_prefill_func", {"window": WINDOW}, ("5D",), id="5D"),
]


@pytest.mark.parametrize(("kernel", "setup", "switches"), CASES)
def test_extend_sees_the_window_and_its_own_key(
    kernel: str, setup: dict[str, Any], switches: tuple[str, ...]
) -> None:
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(**setup))
        outputs = bench.run(bench.take(bench.admit([4]), [2]), keys=KEYS)
    assert calls[-1].kernel == kernel
    require_right(_of_the_window(outputs))


@pytest.mark.parametrize(
    ("kernel", "switches"),
    [
        pytest.param("unified_attention", (), id="unified", marks=few(WINDOW)),
        pytest.param("pa_decode_gluon", ("5D",), id="5D", marks=few(WINDOW - 1)),
    ],
)
def test_decode_sees_the_window_and_its_own_key(
    kernel: str, switches: tuple[str, ...]
) -> None:
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(window=WINDOW))
        outputs = bench.decode(bench.admit([5]), keys=KEYS)
    assert calls[-1].kernel == kernel
    require_right(_of_the_window(outputs))


def _of_the_window(outputs: list[Output]) -> list[Output]:
    return outputs[-1:]
