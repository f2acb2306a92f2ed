"""Cold-cache device times by graph replay, and wall times of host-driven work."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

import torch

REPLAYS = 25
# Between two uses of one row or buffer this many L2 sizes pass through the cache.
COLD_CACHE_SIZES = 4
# The start of a replay is in its time, once.
MIN_CALLS = 16
MAX_CALLS = 1024
WALL_REPEATS = 50
LAUNCHES = 16
SLEEP_CYCLES = 4_000_000  # 2 ms: longer than the host takes to enqueue them.


@dataclass(frozen=True)
class Spread:
    """Median, and the 10th and 90th percentile, in microseconds."""

    us: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: list[float]) -> Spread:
        """The spread of at least ten samples."""
        tenths = quantiles(samples, n=10)
        return cls(median(samples), tenths[0], tenths[-1])


def calls_for_cold_cache(bytes_moved: int) -> int:
    """Calls with distinct data whose footprint exceeds the L2 several times."""
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    return min(MAX_CALLS, max(MIN_CALLS, -(-COLD_CACHE_SIZES * l2 // bytes_moved)))


def time_interleaved(
    subjects: Mapping[str, Callable[[int], Any]], calls: int
) -> dict[str, Spread]:
    """Device time per call of each subject; replays take turns.

    Each subject is called with 0..calls-1 under capture. What it returns is kept until
    the capture ends, so that no two calls share an output buffer; the next subject's
    buffers are the same ones.
    """
    torch.cuda.empty_cache()  # Buffers of earlier graphs.
    pool = torch.cuda.graph_pool_handle()
    graphs = {name: _capture(call, calls, pool) for name, call in subjects.items()}
    samples: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(REPLAYS):
        for name, graph in graphs.items():
            start, end = _event(), _event()
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            samples[name].append(start.elapsed_time(end) * 1000 / calls)
    return {name: Spread.of(values) for name, values in samples.items()}


def time_launches(
    subjects: Mapping[str, Callable[[int], Any]], calls: int
) -> dict[str, Spread]:
    """Time of one launch on a stream, between two events: launch latency included.

    The device sleeps while the host enqueues, so that the host's time is not in it.
    """
    samples: dict[str, list[float]] = {name: [] for name in subjects}
    for start in range(0, 12 * LAUNCHES, LAUNCHES):
        for name, call in subjects.items():
            torch.cuda._sleep(SLEEP_CYCLES)  # type: ignore[no-untyped-call]
            events = [(_event(), _event()) for _ in range(LAUNCHES)]
            kept = []
            for i, (before, after) in enumerate(events, start):
                before.record()
                kept.append(call(i % calls))
                after.record()
            torch.cuda.synchronize()
            samples[name] += [1000 * a.elapsed_time(b) for a, b in events]
    return {name: Spread.of(values[LAUNCHES:]) for name, values in samples.items()}


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _capture(call: Callable[[int], Any], calls: int, pool: Any) -> torch.cuda.CUDAGraph:
    call(0)  # Compiles.
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        kept = [call(i) for i in range(calls)]
    del kept
    graph.replay()
    torch.cuda.synchronize()
    return graph


def wall_times(calls: Mapping[str, Callable[[], Any]]) -> dict[str, Spread]:
    """From an idle device until the work of each call is done on it."""
    return _take_turns(calls, torch.cuda.synchronize)


def host_times(calls: Mapping[str, Callable[[], Any]]) -> dict[str, Spread]:
    """Host time alone of each call, none of which may synchronise."""
    return _take_turns(calls, lambda: None)


def _take_turns(
    calls: Mapping[str, Callable[[], Any]], finish: Callable[[], None]
) -> dict[str, Spread]:
    """Time from an idle device until `finish` returns after a call.

    The calls take turns, since a host has slower and faster minutes.
    """
    for call in calls.values():
        call()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(WALL_REPEATS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            call()
            finish()
            samples[name].append((time.perf_counter() - start) * 1e6)
    return {name: Spread.of(values) for name, values in samples.items()}


@dataclass(frozen=True)
class DeviceWork:
    """Kernels and copies that one call puts on the device."""

    us: float
    operations: int


def device_work(call: Callable[[], Any]) -> DeviceWork:
    """Busy time and number of the operations of one call, by the profiler."""
    call()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        call()
        torch.cuda.synchronize()
    spans = [
        event.time_range.elapsed_us()
        for event in profile.events()
        if event.device_type == torch.profiler.DeviceType.CUDA
    ]
    return DeviceWork(float(sum(spans)), len(spans))


def count_synchronisations(call: Callable[[], Any]) -> int:
    """Times that `call` makes the host wait for the device, as torch sees it."""
    call()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(w.message) for w in caught)
