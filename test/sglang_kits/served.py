"""A server for SGLang's kits, and proof that it served them by the path under test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from engine.setups import Setup
from page_size_eval.defect import require_planted
from page_size_eval.serving.hardware import CPU
from page_size_eval.serving.in_force import read_in_force, require_arguments
from page_size_eval.serving.metrics import read_context_prefill
from page_size_eval.serving.server import Server, pick_port


@contextmanager
def serving(page: int, folder: Path) -> Iterator[Server]:
    """A server with pages of `page` tokens and fp8 KV, set up as the engine tests have
    it: prompts above 256 tokens are chunked, the prefix cache is on."""
    setup = Setup(page)
    spec = setup.spec(folder / f"{setup.slug}.log")
    environment = {**CPU.environment, **spec.environment}
    spec = replace(spec, port=pick_port(None), environment=environment)
    with Server(spec) as server:
        server.wait_until_ready()
        require_arguments(read_in_force(server.info()), setup.in_force())
        if setup.planted:
            require_planted(setup.planted, spec.log)
        yield server


@contextmanager
def path_taken(server: Server) -> Iterator[None]:
    """The block starts with a cold prefix cache, and fails unless chunks with a prefix
    took the ASM path, all of them."""
    server.flush_cache()
    start = read_context_prefill(server.metrics())
    yield
    counted = read_context_prefill(server.metrics()).since(start)
    assert counted.hits > 0 and not counted.fallbacks, counted
