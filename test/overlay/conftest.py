"""The ASM kernel of the backend, replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from overlay.backends import Kernel


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    # Here, since the first import of SGLang settles the platform of all tests.
    from sglang.srt.layers.attention import aiter_backend

    from overlay.backends import Kernel

    stand_in = Kernel()
    monkeypatch.setattr(
        aiter_backend,
        "flash_attn_varlen_fp8_pertensor_func",
        stand_in,
        raising=False,
    )
    # As in releases before 0.5.23; the cast of later ones has no form for a CPU.
    monkeypatch.delattr(
        aiter_backend.AiterAttnBackend, "_quantize_q_fp8", raising=False
    )
    return stand_in
