"""Whether the ASM path served, read from /metrics."""

from __future__ import annotations

from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

COUNTER = "sglang:asm_context_prefill"


@dataclass(frozen=True)
class ContextPrefill:
    """Extend batches with a prefix that reached the ASM context-chunk branch."""

    hits: int = 0
    fallbacks: dict[str, int] = field(default_factory=dict)

    @property
    def fallback_total(self) -> int:
        return sum(self.fallbacks.values())


def read_context_prefill(text: str) -> ContextPrefill:
    """Hits and fallbacks by reason, summed over the server's processes.

    Args:
        text: what /metrics returned; the counter is absent until the first batch.
    """
    counts: dict[str, int] = {}
    for family in text_string_to_metric_families(text):
        if family.name != COUNTER:
            continue
        for sample in family.samples:
            if sample.name == f"{COUNTER}_total":
                outcome = sample.labels["outcome"]
                counts[outcome] = counts.get(outcome, 0) + int(sample.value)
    hits = counts.pop("hit", 0)
    return ContextPrefill(hits, counts)
