"""What one server is asked: prompts alone, then together, in rounds."""

from __future__ import annotations

from dataclasses import dataclass

from page_size_eval.parity.probes import Answer, ask, make_prompts
from page_size_eval.serving.endpoint import Endpoint
from page_size_eval.serving.metrics import ContextPrefill, read_context_prefill

ALONE, TOGETHER = "alone", "together"
MODES = (ALONE, TOGETHER)


@dataclass(frozen=True)
class Load:
    """How many prompts, and of how many examples each."""

    alone: int = 4
    together: int = 12
    shots: int = 8


@dataclass(frozen=True)
class Rounds:
    """One server's answers by mode, and how its context chunks were served.

    Alone, every server computes the same batches whatever its page size, so that the
    answers are equal to the bit where the arithmetic is. Together, page sizes change
    which prompts share a batch, and rounding follows.
    """

    answers: dict[str, list[Answer]]
    prefill: ContextPrefill


def ask_rounds(server: Endpoint, load: Load, *, backwards: bool = False) -> Rounds:
    """Ask a server all rounds.

    Args:
        backwards: the prompts that share batches in the opposite order: another
            composition of the same batches, which an A/A run is to vary.
    """
    prompts = make_prompts(load.together, load.shots)
    before = read_context_prefill(server.metrics())
    alone = [ask(server, [prompt])[0] for prompt in prompts[: load.alone]]
    step = -1 if backwards else 1
    together = ask(server, prompts[::step])[::step]
    after = read_context_prefill(server.metrics())
    return Rounds({ALONE: alone, TOGETHER: together}, after.since(before))
