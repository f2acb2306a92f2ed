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

    def __add__(self, other: ContextPrefill) -> ContextPrefill:
        reasons = self.fallbacks.keys() | other.fallbacks
        return ContextPrefill(
            self.hits + other.hits,
            {
                reason: self.fallbacks.get(reason, 0) + other.fallbacks.get(reason, 0)
                for reason in sorted(reasons)
            },
        )

    def since(self, start: ContextPrefill) -> ContextPrefill:
        """What was counted after `start`, on the same server."""
        counts = {
            reason: count - start.fallbacks.get(reason, 0)
            for reason, count in self.fallbacks.items()
        }
        fallbacks = {reason: count for reason, count in counts.items() if count}
        return ContextPrefill(self.hits - start.hits, fallbacks)


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
