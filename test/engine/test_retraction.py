"""A request that is taken off a full pool and comes back answers as one that is not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.engines import Answers, Engines, each_setup, selected_setups
from engine.rounds import OTHER_BATCHES, differing
from engine.setups import Setup
from page_size_eval.parity.probes import Answer, make_prompts
from page_size_eval.serving.endpoint import Endpoint
from page_size_eval.serving.metrics import ContextPrefill, read_context_prefill

# Four prompts of some 250 tokens, the first 200 of them shared, fit; not so the 160
# that they decode.
FULL, CHUNK, NEW_TOKENS = 512, 64, 40
ROOMY = Setup(chunk=CHUNK)
SCARCE = [
    Setup(page, page_view=view, chunk=CHUNK, pool=FULL, conservativeness=0.01)
    for page, view in ((1, False), (16, False), (64, False), (64, True))
]


@dataclass(frozen=True)
class Decoded:
    """Continuations, how often each request was retracted, and the path taken."""

    answers: list[Answer]
    retractions: list[int]
    prefill: ContextPrefill


def ask_long(engine: Endpoint) -> Decoded:
    """All prompts at once. Admission leaves room for all of `ignore_eos`: not here."""
    replies = engine.generate(
        {
            "text": make_prompts(4, 2),
            "sampling_params": {"temperature": 0, "max_new_tokens": NEW_TOKENS},
            "return_logprob": True,
            "top_logprobs_num": 2,
        }
    )
    metas = [reply["meta_info"] for reply in replies]
    answers = [
        Answer(
            prompt_tokens=meta["prompt_tokens"],
            cached_tokens=meta["cached_tokens"],
            token_ids=[token for _, token, _ in meta["output_token_logprobs"]],
            runner_up=[top[1][0] for top in meta["output_top_logprobs"]],
            logprobs=[logprob for logprob, *_ in meta["output_token_logprobs"]],
        )
        for meta in metas
    ]
    retractions = [meta["num_retractions"] for meta in metas]
    return Decoded(answers, retractions, read_context_prefill(engine.metrics()))


@pytest.fixture(scope="module")
def answers(engines: Engines, request: pytest.FixtureRequest) -> Answers[Decoded]:
    return engines.ask(ask_long, [ROOMY, *selected_setups(request)])


@each_setup(SCARCE)
def test_retracted_requests_answer_as_others(
    setup: Setup, answers: Answers[Decoded]
) -> None:
    roomy, scarce = answers[ROOMY], answers[setup]
    assert not any(roomy.retractions) and any(scarce.retractions), scarce.retractions
    assert (scarce.prefill.hits > 0) is not setup.page_view
    assert scarce.prefill.fallbacks == {}
    assert min(len(a.token_ids) for a in roomy.answers) == NEW_TOKENS
    assert not differing(roomy.answers, scarce.answers, OTHER_BATCHES)
