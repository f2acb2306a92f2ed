"""Servers that already run: asked where they are, shown to be alike, left running."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from benchmark.gsm8k.model import MODEL_DIR
from fakes.server import FakeSpec
from page_size_eval.errors import CannotMeasure
from page_size_eval.run import Consoles, Options, run
from page_size_eval.serving.hardware import CPU
from page_size_eval.serving.server import Server, pick_port
from page_size_eval.settings import Settings


@contextmanager
def running(folder: Path, *told: tuple[int, int]) -> Iterator[list[Server]]:
    """Fake servers of (page size, chunk)."""
    with ExitStack() as stack:
        servers = []
        for i, (page_size, chunk) in enumerate(told):
            spec = FakeSpec(
                folder, page_size, chunk, pick_port(None), folder / f"{i}.log"
            )
            servers.append(stack.enter_context(Server(spec)))
        for server in servers:
            server.wait_until_ready(30)
        yield servers


def ask(folder: Path, *urls: str) -> int:
    settings = Settings(
        page_sizes=(),
        model=MODEL_DIR,
        task="gsm_tiny",
        limit=140,
        concurrency=4,
        chunk=1,
        max_gen_toks=64,
        urls=urls,
    )
    quiet = Consoles(Console(quiet=True), Console(quiet=True))
    return run(settings, Options(folder, output=folder), CPU, quiet)


def test_servers_at_urls_are_compared_and_left_running(tmp_path: Path) -> None:
    with running(tmp_path, (1, 256), (16, 256)) as (one, sixteen):
        assert ask(tmp_path / "results", one.url, sixteen.url) == 0
        one.require_alive()
        sixteen.require_alive()
    results = json.loads((tmp_path / "results" / "results.json").read_text())
    labels = [arm["arm"].rpartition(", ")[0] for arm in results["arms"]]
    assert labels == ["page 1", "page 1, again", "page 16"]


def test_servers_that_differ_in_more_are_refused(tmp_path: Path) -> None:
    with (
        running(tmp_path, (1, 256), (16, 512)) as (one, sixteen),
        pytest.raises(CannotMeasure, match="chunked_prefill_size 256 and 512"),
    ):
        ask(tmp_path / "results", one.url, sixteen.url)


def test_url_where_nothing_listens_is_refused(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{pick_port(None)}"
    with pytest.raises(CannotMeasure, match=f"GET {url}/server_info"):
        ask(tmp_path, url, "http://127.0.0.1:1")
