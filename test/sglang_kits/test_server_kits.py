"""SGLang's own kits for servers, against a server with this backend, fp8 and chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from page_size_eval.serving.server import HOST, Server
from sglang_kits.served import path_taken, serving
from sglang_kits.server_kits import KITS

# As `make test-sglang-kits` asks.
ALL = os.environ.get("SGLANG_KITS") == "all"
PAGES = [16, 64, 1] if ALL else [16]
KNOWLEDGE = "asks what the tiny model was never told"
NOT_APPLICABLE = {
    ("basic_decode_correctness", "test_capital_france"): f"{KNOWLEDGE}: Paris",
    ("basic_decode_correctness", "test_color_completion"): f"{KNOWLEDGE}: yellow",
    ("basic_scheduler_stress", "test_streaming_response"): f"{KNOWLEDGE}: Paris",
    ("unified_radix_cache", "test_gsm8k"): "downloads gsm8k",
}
# Of these `make test` has not the time; the last three notice least for theirs.
SLOW = {
    ("radix_cache_server", "run_radix_attention_test"),
    ("basic_scheduler_stress", "test_long_prompt"),
    ("unified_radix_cache", "test_multiturn_logprobs_match"),
    ("unified_radix_cache", "test_multiturn_prefill_cache_hit_branching"),
    ("unified_radix_cache", "test_multiturn_decode_cache_hit_branching"),
    ("cache_hit", "run_multiturn_cache_hit_test"),
    ("basic_decode_correctness", "test_ascii_ratio"),
    ("basic_decode_correctness", "test_no_repetition_blowup"),
}
CHECKS = [(kit, check) for kit, (_, checks) in KITS.items() for check in checks]


@pytest.fixture(scope="module", params=PAGES, ids=lambda page: f"page_{page}")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with serving(request.param, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.mark.parametrize(
    ("kit", "check"),
    [c for c in CHECKS if c not in NOT_APPLICABLE and (ALL or c not in SLOW)],
)
def test_server(
    server: Server,
    kit: str,
    check: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The kits ask through whatever proxy the environment names.
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, HOST)
    run, _ = KITS[kit]
    with path_taken(server):
        run(server, check, tmp_path)


def test_a_prompt_of_one_chunk_proves_nothing(server: Server) -> None:
    short = {"text": "Question:", "sampling_params": {"max_new_tokens": 1}}
    with pytest.raises(AssertionError, match="hits=0"), path_taken(server):
        server.generate(short)


@pytest.mark.parametrize(("kit", "check"), NOT_APPLICABLE)
def test_not_applicable(kit: str, check: str) -> None:
    assert (kit, check) in CHECKS, f"no longer in the kit {kit}: {check}"
    pytest.skip(NOT_APPLICABLE[kit, check])
