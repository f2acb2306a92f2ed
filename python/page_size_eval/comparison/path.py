"""Whether the path under test served an arm."""

from __future__ import annotations

from page_size_eval.arms import Arm
from page_size_eval.errors import CannotMeasure
from page_size_eval.serving.metrics import ContextPrefill


def require_path_served(arm: Arm, prefill: ContextPrefill) -> None:
    """Raise CannotMeasure unless the path under test served most of an arm's batches.

    An arm of the page view must not have gathered at all.
    """
    if arm.gathers == (prefill.hits > 0) and prefill.fallback_total <= prefill.hits:
        return
    wanted = (
        "most context chunks served by the ASM path" if arm.gathers else "no gather"
    )
    raise CannotMeasure(
        f"{arm.label}: expected {wanted}, got {prefill.hits} hits and fallbacks"
        f" {prefill.fallbacks}: its score would say nothing. Next: check that the model"
        " has head_dim 256 full-attention layers, that prompts are longer than the"
        " chunk, that the release has the page view (0.5.21 and newer), and the"
        " server's log for fallbacks"
    )
