"""Every reference of aiter's that is held against a kernel."""

from __future__ import annotations

from aiter_checkout import decode, generated, generic, gluon, prefill, unified
from aiter_checkout.layouts import LAYOUTS

PAIRS = (
    prefill.PAGES,
    prefill.ROWS,
    prefill.SINK,
    generic.PREFILL,
    generic.PACKED,
    decode.DECODE,
    decode.UNROUNDED,
    unified.TABLES,
    generated.GENERATED,
    gluon.DECODE,
    *LAYOUTS,
)
