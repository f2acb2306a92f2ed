"""Logprobs of chunked prompts are the same at every page size.

With an fp8 KV cache and head_dim 256, gfx950 serves the later chunks of a prompt by
aiter's ASM kernel over K/V that are gathered from the paged pool. The gather reads
token-level tables. Read as one entry per page they give the same slots at page size 1
and other tokens' slots above it, without an error: a wrong answer, and nothing else.

A small random model behind one server per page size shows it. Where no gfx950 is at
hand, an out-of-tree platform that stands in for one is used if it is installed.
"""

import os
import re
import tempfile
import unittest
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points

import requests
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from sglang.srt.utils import is_gfx95_supported, is_hip, kill_process_tree
from sglang.test.ci.ci_register import register_amd_ci
from sglang.test.test_utils import (
    DEFAULT_TIMEOUT_FOR_SERVER_LAUNCH,
    DEFAULT_URL_FOR_TEST,
    CustomTestCase,
    popen_launch_server,
)

register_amd_ci(est_time=60, suite="stage-b-test-1-gpu-small-amd-mi35x")

PAGE_SIZES = (1, 16, 64)
CHUNK = 256
# Prompts of two to four chunks that end inside a page, at its end, one before and one
# after, at 16 and at 64; and one of a single chunk.
PROMPT_TOKENS = (83, 300, 511, 512, 513, 577, 640, 703, 769, 900)
VOCABULARY = 512
# Of a logprob, against page size 1. On a CPU the largest difference is 0.06, since
# other requests share a batch; with the tables read as one entry per page it is 6.8.
TOLERANCE = 0.2

REFERENCE = "gfx950_reference"
ON_GFX950 = (
    os.environ.get("SGLANG_PLATFORM") != REFERENCE
    and is_hip()
    and torch.cuda.is_available()
    and is_gfx95_supported()
)
HAS_REFERENCE = any(
    platform.name == REFERENCE
    for platform in entry_points(group="sglang.srt.platforms")
)
HITS = re.compile(r'^sglang:asm_context_prefill_total\{outcome="(\w+)"\} (\S+)$', re.M)


def _server_args(page_size: int) -> list[str]:
    args = {
        "--attention-backend": "aiter",
        "--kv-cache-dtype": "fp8_e4m3",
        "--page-size": page_size,
        "--chunked-prefill-size": CHUNK,
        "--max-total-tokens": 16384,
        "--max-running-requests": 16,
    }
    flags = [
        "--disable-radix-cache",
        "--disable-cuda-graph",
        "--skip-tokenizer-init",
        "--skip-server-warmup",
        "--enable-metrics",
    ]
    if not ON_GFX950:
        args |= {"--device": "cpu", "--sampling-backend": "pytorch"}
        args |= {"--grammar-backend": "none"}
        flags.append("--sleep-on-idle")
    return [str(word) for pair in args.items() for word in pair] + flags


def _server_env() -> dict[str, str]:
    # The page-level view of page size 64 reads the pool in place: nothing is gathered.
    env = {"SGLANG_USE_AITER": "1", "SGLANG_AITER_PAGED_PREFILL_ASM": "0"}
    if not ON_GFX950:
        env |= {"SGLANG_PLATFORM": REFERENCE, "TRITON_INTERPRET": "1"}
    return env


def _save_random_model(folder: str) -> None:
    """A model that takes the branch, with weights large enough to attend sharply."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=256,
        max_position_embeddings=2048,
        initializer_range=0.1,
        bos_token_id=None,
        eos_token_id=None,
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def _prompts() -> list[list[int]]:
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randint(VOCABULARY, (n,), generator=generator).tolist()
        for n in PROMPT_TOKENS
    ]


@unittest.skipUnless(
    ON_GFX950 or HAS_REFERENCE,
    f"expected a gfx950 with ROCm, or the SGLang platform {REFERENCE} installed",
)
class TestAsmContextPrefillPageSize(CustomTestCase):
    urls: dict[int, str]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        _save_random_model(folder.name)
        host, port = DEFAULT_URL_FOR_TEST.rsplit(":", 1)
        cls.urls = {
            page_size: f"{host}:{int(port) + 100 * i}"
            for i, page_size in enumerate(PAGE_SIZES)
        }

        def launch(page_size: int) -> None:
            process = popen_launch_server(
                folder.name,
                cls.urls[page_size],
                timeout=DEFAULT_TIMEOUT_FOR_SERVER_LAUNCH,
                other_args=_server_args(page_size),
                env={**os.environ, **_server_env()},
                device="auto" if ON_GFX950 else "cpu",
            )
            cls.addClassCleanup(kill_process_tree, process.pid)

        # Together: most of a start is imports, and health is asked for every 10 s.
        with ThreadPoolExecutor() as pool:
            list(pool.map(launch, PAGE_SIZES))

    def _logprobs(self, page_size: int) -> list[list[float]]:
        """Of each prompt's tokens but the first, and of the one that follows."""
        response = requests.post(
            f"{self.urls[page_size]}/generate",
            json={
                "input_ids": _prompts(),
                "sampling_params": {"temperature": 0, "max_new_tokens": 1},
                "return_logprob": True,
                "logprob_start_len": 0,
            },
            timeout=600,
        )
        response.raise_for_status()
        infos = [reply["meta_info"] for reply in response.json()]
        return [
            [logprob for logprob, *_ in info[kind]][skipped:]
            for info in infos
            for kind, skipped in (
                ("input_token_logprobs", 1),
                ("output_token_logprobs", 0),
            )
        ]

    def _assert_gathered(self, page_size: int) -> None:
        """The ASM kernel served, and no batch went to the paged kernel instead."""
        metrics = requests.get(f"{self.urls[page_size]}/metrics", timeout=60).text
        outcomes = {name: float(count) for name, count in HITS.findall(metrics)}
        self.assertEqual(list(outcomes), ["hit"], f"page size {page_size}: {outcomes}")
        self.assertGreater(outcomes["hit"], 0, f"page size {page_size}")

    def _assert_close(
        self, page_size: int, got: Sequence[float], want: Sequence[float]
    ) -> None:
        self.assertEqual(len(got), len(want))
        gaps = [abs(a - b) for a, b in zip(got, want, strict=True)]
        # NaN is no small difference.
        wrong = [at for at, gap in enumerate(gaps) if not gap <= TOLERANCE]
        if wrong:
            self.fail(
                f"page size {page_size}: {len(wrong)} of {len(gaps)} logprobs differ"
                f" from page size 1, the first at {wrong[0]}, by up to {max(gaps):.3f}"
            )

    def test_logprobs_are_those_of_page_size_1(self) -> None:
        expected = self._logprobs(1)
        self._assert_gathered(1)
        largest = {}
        for page_size in PAGE_SIZES[1:]:
            got = self._logprobs(page_size)
            self._assert_gathered(page_size)
            gaps = []
            for i, (mine, want) in enumerate(zip(got, expected, strict=True)):
                with self.subTest(page_size=page_size, prompt=PROMPT_TOKENS[i // 2]):
                    self._assert_close(page_size, mine, want)
                gaps += [abs(a - b) for a, b in zip(mine, want, strict=True)]
            largest[page_size] = round(max(gaps), 4)
        print(f"largest difference from page size 1: {largest}")


if __name__ == "__main__":
    unittest.main()
