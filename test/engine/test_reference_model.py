"""Page size 1 is no oracle: its answers are compared with another implementation's.

transformers computes the tiny model over dense K and V, a prompt with its answer in one
piece: no pages, no chunks, no cache.
"""

from __future__ import annotations

import statistics
from functools import cache
from typing import TYPE_CHECKING

import pytest

from engine.engines import Answers, Engines, each_setup, selected_setups
from engine.rounds import Alone, ask_alone, vary_prompts
from engine.setups import WHOLE, Setup

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

PAGES = [Setup(), Setup(16), Setup(64, page_view=True), Setup(chunk=WHOLE)]
# Of the gaps of a prompt. Measured: 0.07 and 0.0013.
LARGEST, MEAN = 0.2, 0.01


@pytest.fixture(scope="module")
def answers(engines: Engines, request: pytest.FixtureRequest) -> Answers[Alone]:
    return engines.ask(ask_alone, selected_setups(request))


@each_setup(PAGES)
def test_answers_are_those_of_dense_attention(
    setup: Setup, answers: Answers[Alone]
) -> None:
    got = answers[setup].cold
    for text, answer in zip(vary_prompts(len(got)), got, strict=True):
        expected = compute_logprobs(text, tuple(answer.token_ids))
        pairs = zip(expected, answer.logprobs, strict=True)
        gaps = [abs(dense - paged) for dense, paged in pairs]
        assert max(gaps) <= LARGEST and statistics.fmean(gaps) <= MEAN, (
            f"{answer.prompt_tokens} tokens: logprobs differ by {max(gaps):.4f} at most"
            f" and {statistics.fmean(gaps):.5f} in the mean"
        )


@cache
def load_rounding_model() -> LlamaForCausalLM:
    """The tiny model, with K and V rounded as an fp8 cache rounds them."""
    # Not at collection: these take seconds to import.
    import torch

    from benchmark.gsm8k.kv_cache_rounding import AttentionProbe
    from benchmark.gsm8k.model import MODEL_DIR, load_model

    model = load_model(MODEL_DIR, torch.device("cpu"))
    AttentionProbe(True).install(model)
    return model


@cache
def compute_logprobs(text: str, continuation: tuple[int, ...]) -> list[float]:
    """Logprobs of a prompt's tokens, from the second on, and of its continuation."""
    import torch
    from tokenizers import Tokenizer

    from benchmark.gsm8k.model import MODEL_DIR

    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    ids = torch.tensor([*tokenizer.encode(text).ids, *continuation])
    with torch.no_grad():
        logits = load_rounding_model()(ids[None], use_cache=False).logits[0]
    logprobs = logits[:-1].float().log_softmax(-1)
    found: list[float] = logprobs.gather(1, ids[1:, None])[:, 0].tolist()
    return found
