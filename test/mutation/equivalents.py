"""Mutants that no test can tell from the function they were made of, and why.

Keys as in `Mutant.key`. A mutant that is listed and killed all the same is listed
wrongly, and the run says so.
"""

from __future__ import annotations

EQUIVALENTS = {
    '_asm_context_prefill_indices: - if getattr(fm, "asm_ctx_ready", False): +'
    ' if getattr(fm, "asm_ctx_ready", None):': (
        "the default is asked for its truth alone, and None is as false as False"
    ),
}
