"""What is watched in a scheduler, and the poison in its pool.

SGLang's own plugin hooks; none of them changes a value that SGLang computes with.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from prometheus_client import Counter
from sglang.srt.plugins.hook_registry import HookRegistry, HookSource, HookType

from engine.counters import BATCHES, LOOP, MODE

SCHEDULER = "sglang.srt.managers.scheduler.Scheduler"
FP8_NAN = 0x7F


def register_observers() -> None:
    """To be called before the engine loads its plugins, which applies the hooks."""
    source = HookSource(plugin_name=__name__, dist_name=None)
    for method, hook in (("run_event_loop", poison_pool), ("run_batch", count_batch)):
        HookRegistry.register(
            f"{SCHEDULER}.{method}", hook, HookType.BEFORE, source=source
        )


def poison_pool(scheduler: Any) -> None:
    """NaN in every slot, so that reading one that no token was written to shows."""
    pool = scheduler.token_to_kv_pool_allocator.get_kvcache()
    for buffer in (*pool.k_buffer, *pool.v_buffer):
        buffer.view(torch.uint8).fill_(FP8_NAN)


def count_batch(scheduler: Any, batch: Any, *args: Any, **kwargs: Any) -> None:
    """Count a batch by forward mode and by the event loop that runs it."""
    loop = "overlap" if scheduler.enable_overlap else "normal"
    _counter().labels(**{MODE: batch.forward_mode.name, LOOP: loop}).inc()


@cache
def _counter() -> Counter:
    """Made when it is needed: the file behind it belongs to the process that does."""
    return Counter(BATCHES, "Batches run.", labelnames=[MODE, LOOP])
