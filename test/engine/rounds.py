"""What an engine is asked: prompts cold and cached, alone, together and backwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from page_size_eval.parity.difference import compare_answers, describe
from page_size_eval.parity.probes import Answer, ask, make_prompts
from page_size_eval.serving.endpoint import Endpoint
from page_size_eval.serving.metrics import ContextPrefill, read_context_prefill

SHOTS = 8
ALONE, TOGETHER = 2, 4
# Of a logprob, where batches are the same, whatever the page size. Measured: 0.0.
SAME_BATCHES = 1e-3
# Where they are not, products of other shapes round differently, and a bf16 logit of
# this model has steps of up to 0.125. Measured: 0.06, at one page size, between two
# orders of the same prompts; 0.0 between two runs with equal batches.
OTHER_BATCHES = 0.15


@dataclass(frozen=True)
class Alone:
    """One engine's answers to prompts that it is asked one after the other.

    Cold: with logprobs of the prompts, for which SGLang computes every token. Cached:
    the same again, with what the prefix cache has.

    Attributes:
        cold_prefill: how the chunks of the cold prompts were served.
        cached_prefill: those of the cached ones.
    """

    cold: list[Answer]
    cached: list[Answer]
    cold_prefill: ContextPrefill
    cached_prefill: ContextPrefill


@dataclass(frozen=True)
class Together:
    """One engine's answers to prompts that it is asked all at once.

    Attributes:
        backwards: cold too, in the opposite order, which makes other batches.
        cached: with prefixes that other requests computed as well.
    """

    cold: list[Answer]
    backwards: list[Answer]
    cached: list[Answer]
    prefill: ContextPrefill


@dataclass(frozen=True)
class Rounds:
    """All of the above, by one engine."""

    alone: Alone
    together: Together


def vary_prompts(count: int) -> list[str]:
    """Prompts of which every second one has the same examples in another order.

    Those that start alike share pages of the prefix cache. The others do not, so that
    one that reads its neighbour's pages reads something else.
    """
    prompts = []
    for i, prompt in enumerate(make_prompts(count, SHOTS)):
        *examples, question = prompt.split("\n\n")
        turned = examples[i % 2 :] + examples[: i % 2]
        prompts.append("\n\n".join([*turned, question]))
    return prompts


def ask_rounds(engine: Endpoint) -> Rounds:
    """Prompts alone, then more of them together."""
    return Rounds(ask_alone(engine), ask_together(engine))


def ask_alone(engine: Endpoint) -> Alone:
    """The first prompts, one after the other, and again."""
    prompts = vary_prompts(ALONE)
    start = read_context_prefill(engine.metrics())
    cold = [ask(engine, [prompt])[0] for prompt in prompts]
    middle = read_context_prefill(engine.metrics())
    cached = [ask(engine, [prompt], whole=False)[0] for prompt in prompts]
    end = read_context_prefill(engine.metrics())
    return Alone(cold, cached, middle.since(start), end.since(middle))


def ask_together(engine: Endpoint) -> Together:
    """All prompts at once, backwards, and again."""
    prompts = vary_prompts(TOGETHER)
    start = read_context_prefill(engine.metrics())
    cold = ask(engine, prompts)
    backwards = ask(engine, prompts[::-1])[::-1]
    cached = ask(engine, prompts, whole=False)
    end = read_context_prefill(engine.metrics())
    return Together(cold, backwards, cached, end.since(start))


def differing(
    expected: Sequence[Answer], got: Sequence[Answer], tolerance: float
) -> list[str]:
    """The prompts whose answers differ by more than rounding, in words."""
    return describe(compare_answers(expected, got), tolerance)


def continuations(answers: Sequence[Answer]) -> list[Answer]:
    """The answers without the logprobs of their prompts."""
    return [replace(a, logprobs=a.logprobs[a.first_new :]) for a in answers]
