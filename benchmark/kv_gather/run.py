"""Times the K/V gather of the context-chunk prefill against two SGLang releases.

Runs on one CUDA or ROCm GPU with torch and Triton; SGLang is not needed. The
releases' own code is read from `--releases DIR`, where DIR/<version>/ is an unpacked
wheel: `pip download --no-deps sglang==0.5.23` and unzip.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmark.kv_gather import forward, gather_grid, sweep
from benchmark.kv_gather.batches import LAYOUTS, WIDTHS
from benchmark.kv_gather.environment import describe_environment
from benchmark.kv_gather.modules import GATHER_FILE, load_file
from benchmark.kv_gather.paths import our_path, release_path
from benchmark.kv_gather.report import render, replace_tables

VERSIONS = ("0.5.19", "0.5.23")
TOKENS = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144]
FORWARD_TOKENS = [512, 2048, 8192, 32768, 131072, 262144]
INDEX_TOKENS = [8192, 131072, 262144]
BATCHES = [1, 4, 16, 64]
SEED = 5


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: python -m benchmark.kv_gather.run --releases wheels"
        " --json out.json --plot out.png",
    )
    add = parser.add_argument
    add("--releases", type=Path, help="folder of unpacked wheels, by version")
    add("--kernel", type=Path, default=GATHER_FILE, help="another aiter_kv_gather.py")
    add("--rows", type=int, nargs="+", default=list(WIDTHS), help="row bytes")
    add("--tokens", type=int, nargs="+", default=TOKENS, help="tokens of the gather")
    add("--layouts", nargs="+", default=LAYOUTS, choices=LAYOUTS, help="page layouts")
    add(
        "--seed", type=int, default=SEED, help="of pools and pages; default %(default)s"
    )
    add("--sweep", action="store_true", help="time every launch shape instead")
    add("--from-json", type=Path, nargs="+", help="report earlier runs, do not measure")
    add("--json", type=Path, help="write every number here")
    add("--plot", type=Path, help="write a PNG here")
    add("--markdown", type=Path, help="renew the tables between the marks of this file")
    return parser


def measure(args: argparse.Namespace, argv: list[str]) -> dict[str, Any]:
    """Everything that a report is made of, in one run on one GPU."""
    torch.manual_seed(args.seed)
    result: dict[str, Any] = {
        "environment": describe_environment("benchmark.kv_gather.run", argv, args.seed)
    }
    print(json.dumps(result["environment"], indent=1), flush=True)
    module = load_file(args.kernel)
    if args.sweep:
        return result | {"sweep": sweep.sweep(module, args.rows, args.tokens)}
    ours = our_path(module)
    releases = [release_path(args.releases, version) for version in VERSIONS]
    paths = [*releases, ours]
    gathers = {"ours": ours.gather, "index_select": releases[-1].gather}
    steps: dict[str, Callable[[], Any]] = {
        "copy_8_gib_us": gather_grid.asymptotic_copy_us,
        "host": lambda: forward.measure_host(paths),
        "allocations": lambda: [
            forward.measure_allocations(ours, 512, n) for n in FORWARD_TOKENS
        ],
        "indices": lambda: forward.measure_indices(paths, BATCHES, INDEX_TOKENS),
        "gather": lambda: gather_grid.measure_grid(
            args.rows, args.tokens, args.layouts, gathers
        ),
        "forward": lambda: forward.measure_forward(
            paths, [row for row in args.rows if row >= 256], FORWARD_TOKENS
        ),
    }
    for name, step in steps.items():
        start = time.perf_counter()
        result[name] = step()
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return result


def main(argv: list[str]) -> int:
    """0: measured or reported; 2: could not measure."""
    args = _parser().parse_args(argv)
    if args.from_json:
        result: dict[str, Any] = {}
        for file in reversed(args.from_json):
            result |= json.loads(file.read_text())
    elif not torch.cuda.is_available():
        print("no CUDA or ROCm GPU: use --from-json FILE", file=sys.stderr)
        return 2
    elif not args.sweep and args.releases is None:
        print("--releases DIR is needed: see --help", file=sys.stderr)
        return 2
    else:
        result = measure(args, argv)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    print(render(result))
    if args.plot:
        from benchmark.kv_gather.plot import plot_result

        plot_result(result, args.plot)
    if args.markdown:
        args.markdown.write_text(replace_tables(args.markdown.read_text(), result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
