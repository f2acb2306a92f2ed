"""SGLang's kits for servers, and how a check of each is run.

Where a kit has no parameter for what cannot be had, such as a token id above the tiny
model's vocabulary or a data set to download, a name that the kit looks up is replaced.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from sglang.test import kl_multiturn_utils, kl_test_utils
from sglang.test.kits import (
    basic_scheduler_stress_kit,
    cache_hit_kit,
    radix_cache_server_kit,
    unified_radix_cache_kit,
)

from page_size_eval.serving.server import Server
from page_size_eval.settings import TINY_MODEL
from sglang_kits import tiny_prompts
from sglang_kits.adapted_kits import (
    Branching,
    Conversations,
    DecodeCorrectness,
    Divergence,
    SchedulerStress,
)

SEED = 1234
# Of a server, a check's name, and an empty folder.
Runner = Callable[[Server, str, Path], None]


def run_branching(server: Server, check: str, folder: Path) -> None:
    class Here(Branching):
        cache_chunk_size = server.spec.page_size

    Here.server = server
    _run(Here, server, check)


def run_radix_tree(server: Server, check: str, folder: Path) -> None:
    kit = radix_cache_server_kit
    fewer = functools.partial(kit.gen_radix_tree, num_nodes=24, chunk_len=48)
    with (
        mock.patch.object(kit, "gen_radix_tree", fewer),
        mock.patch.object(kit, "random", tiny_prompts.InVocabulary(SEED)),
    ):
        getattr(kit, check)(server.url)


def run_cache_hit(server: Server, check: str, folder: Path) -> None:
    conversations = folder / "conversations.json"
    tiny_prompts.write_conversations(conversations)
    getattr(cache_hit_kit, check)(
        server.url,
        str(TINY_MODEL),
        num_clients=4,
        request_length=300,
        sub_question_input_length=100,
        output_length=20,
        dataset_path=str(conversations),
    )


def run_divergence(server: Server, check: str, folder: Path) -> None:
    class Here(Divergence):
        # More than a page, or the second turn finds none of the first one's answer.
        kl_div_decode_max_new_tokens = server.spec.page_size + 16

    prompts = tiny_prompts.prompt_ids(Here.kl_div_max_samples)
    with mock.patch.object(kl_test_utils, "get_input_ids", lambda **_: prompts):
        _run(Here, server, check)


def run_decode(server: Server, check: str, folder: Path) -> None:
    _run(DecodeCorrectness(check), server, check)


def run_stress(server: Server, check: str, folder: Path) -> None:
    kit = basic_scheduler_stress_kit
    with (
        mock.patch.object(kit, "_CONCURRENT_PREFIX", tiny_prompts.examples()),
        mock.patch.object(kit, "_CONCURRENT_QA", tiny_prompts.questions(8)),
    ):
        _run(SchedulerStress(check), server, check)


def run_conversations(server: Server, check: str, folder: Path) -> None:
    case = Conversations(check)
    case.input_ids = tiny_prompts.prompt_ids(4)
    case.decode_cache_assert = functools.partial(
        kl_multiturn_utils.default_decode_cache_assert,
        page_size=server.spec.page_size,
    )
    draws = SimpleNamespace(Random=tiny_prompts.InVocabulary)
    with mock.patch.object(unified_radix_cache_kit, "random", draws):
        _run(case, server, check)


def _run(case: Any, server: Server, check: str) -> None:
    case.base_url = server.url
    getattr(case, check)()


def _checks(kit: type) -> list[str]:
    return [name for name in dir(kit) if name.startswith("test_")]


# By the name of the kit's file; what the release in use has in it.
KITS: dict[str, tuple[Runner, list[str]]] = {
    "prefix_cache_branching": (run_branching, _checks(Branching)),
    "radix_cache_server": (run_radix_tree, ["run_radix_attention_test"]),
    "cache_hit": (run_cache_hit, ["run_multiturn_cache_hit_test"]),
    "kl_divergence": (run_divergence, _checks(Divergence)),
    "basic_decode_correctness": (run_decode, _checks(DecodeCorrectness)),
    "basic_scheduler_stress": (run_stress, _checks(SchedulerStress)),
    "unified_radix_cache": (run_conversations, _checks(Conversations)),
}
