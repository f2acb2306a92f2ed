"""What decides a comparison, fixed before any run."""

from __future__ import annotations

from page_size_eval.errors import CannotMeasure

# The filter whose answers decide; the others are shown.
GATING_FILTER = "strict-match"
# Below this the baseline has too little left to lose.
LOWEST_BASELINE = 0.5
# Of every test.
LEVEL = 0.05
CONFIDENCE = 0.95
# Differences between page sizes up to this are equivalence. Repeats average the noise
# out, which makes half of it provable.
MARGIN = 0.02
MARGIN_OF_REPEATS = 0.01
PASSES_FOR_SMALL_MARGIN = 3


def choose_margin(passes: int, asked: float | None = None) -> float:
    """The equivalence margin, as a share of the questions.

    Args:
        passes: how often each arm answered its questions.
        asked: a margin chosen by the user; None for the default of so many passes.

    Raises:
        CannotMeasure: `asked` is not a share between 0 and 1.
    """
    if asked is None:
        small = passes >= PASSES_FOR_SMALL_MARGIN
        return MARGIN_OF_REPEATS if small else MARGIN
    if not 0 < asked < 1:
        raise CannotMeasure(
            f"margin {100 * asked:g} points: expected more than 0 and less than 100."
            f" Next: leave it out for {100 * MARGIN:g}"
        )
    return asked
