"""Hits and fallbacks as SGLang's /metrics shows them."""

from __future__ import annotations

from page_size_eval.serving.metrics import ContextPrefill, read_context_prefill

TEXT = """\
# HELP sglang:asm_context_prefill_total Extend batches
# TYPE sglang:asm_context_prefill_total counter
sglang:asm_context_prefill_total{outcome="hit",pid="1"} 40.0
sglang:asm_context_prefill_total{outcome="hit",pid="2"} 2.0
sglang:asm_context_prefill_total{outcome="slot_past_pool"} 3.0
# HELP sglang:asm_context_prefill_created When
# TYPE sglang:asm_context_prefill_created gauge
sglang:asm_context_prefill_created{outcome="hit"} 1.7e9
# HELP sglang:num_requests_total Others
# TYPE sglang:num_requests_total counter
sglang:num_requests_total{outcome="hit"} 9.0
"""


def test_sums_over_processes_and_keeps_reasons_apart() -> None:
    assert read_context_prefill(TEXT) == ContextPrefill(42, {"slot_past_pool": 3})


def test_absent_counter_is_no_hit() -> None:
    assert read_context_prefill("") == ContextPrefill(0, {})
