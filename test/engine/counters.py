"""What engines count for these tests, next to SGLang's own counters."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from page_size_eval.serving.endpoint import Endpoint

BATCHES = "suite:batches"
MODE, LOOP = "mode", "loop"


def count_batches(engine: Endpoint, label: str) -> dict[str, int]:
    """Batches that an engine ran so far, by the values of a label.

    Args:
        label: MODE, SGLang's forward modes; or LOOP, overlap or normal.
    """
    counts: dict[str, int] = {}
    for family in text_string_to_metric_families(engine.metrics()):
        for sample in family.samples:
            if sample.name == f"{BATCHES}_total":
                value = sample.labels[label]
                counts[value] = counts.get(value, 0) + int(sample.value)
    return counts
