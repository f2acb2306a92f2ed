"""What is in force in a server, and whether two servers differ as they should."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from page_size_eval.errors import CannotMeasure

KV_CACHE_DTYPE = "fp8_e4m3"
ATTENTION_BACKEND = "aiter"

# Where a server listens and what it is called; what it found or did at its start; what
# greedy decoding does not use.
INCIDENTAL = frozenset(
    {
        "host",
        "port",
        "nccl_port",
        "dist_init_addr",
        "base_gpu_id",
        "served_model_name",
        "launch_command",
        "startup_time",
        "hicache_object_layout",
        "internal_states",
        "max_total_num_tokens",
        "mem_fraction_static",
        "random_seed",
        "status",
    }
)
# The difference under test. The second follows the first.
UNDER_TEST = frozenset({"page_size", "c128_page_size"})


def read_in_force(info: Mapping[str, Any]) -> dict[str, Any]:
    """What /server_info says of how tokens are computed."""
    return {name: value for name, value in info.items() if name not in INCIDENTAL}


def require_arguments(in_force: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Raise CannotMeasure unless a server has `expected`, by name, in force."""
    for name, value in expected.items():
        if in_force.get(name) != value:
            raise CannotMeasure(
                f"server at page size {in_force.get('page_size')}: expected"
                f" {name}={value} in force, got {in_force.get(name)}: the arms would"
                " not differ as stated. Next: look for the reason in the server's log"
                " (hybrid models reset the page size while the radix cache is on;"
                " another served_model_name is another server on the port)"
            )


def require_equal(
    baseline: Mapping[str, Any],
    other: Mapping[str, Any],
    label: str,
    *,
    other_tree: bool = False,
) -> None:
    """Raise CannotMeasure if two servers differ in more than the page size.

    Args:
        baseline: what is in force in the first arm's server.
        other: the same of the arm `label`.
        other_tree: that arm runs another SGLang: its version, and arguments that only
            one of the two knows, may differ too.
    """
    names = set(baseline) & set(other) if other_tree else set(baseline) | set(other)
    names -= UNDER_TEST | ({"version"} if other_tree else set())
    differing = {
        name: (baseline.get(name), other.get(name))
        for name in sorted(names)
        if baseline.get(name) != other.get(name)
    }
    if differing:
        shown = "; ".join(f"{n} {a!r} and {b!r}" for n, (a, b) in differing.items())
        raise CannotMeasure(
            f"{label}: expected a server that differs from the baseline in page size"
            f" alone, got {shown}. Next: start both with the same arguments"
        )
