"""Speed of SGLang's engine on a CPU through the reference kernels: prefill and decode.

One server, the tiny model, and as many five-shot prompts as run at a time, sent at
once. Prefill is the prompts with one new token each; decode is what more new tokens
take on top. CPU time is that of all the server's processes: unlike wall time it holds
while other programs use the cores too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmark.cpu_engine.workload import Workload, find_wrong_answers, measure
from page_size_eval.errors import CannotMeasure
from page_size_eval.serving.hardware import CPU
from page_size_eval.serving.server import Server, ServerSpec, pick_port
from page_size_eval.settings import ROOT, TINY_MODEL

PAGE_SIZE = 16
CHUNK = 256
PROMPTS = CPU.concurrency
NEW_TOKENS = 65
REPEATS = 7


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: python -m benchmark.cpu_engine.run --threads 1 --repeats 3",
    )
    add = parser.add_argument
    add("--page-size", type=int, default=PAGE_SIZE, help="default %(default)s")
    add("--prompts", type=int, default=PROMPTS, help="at once; default %(default)s")
    add("--new-tokens", type=int, default=NEW_TOKENS, help="default %(default)s")
    add("--repeats", type=int, default=REPEATS, help="default %(default)s")
    add("--threads", type=int, help="OMP_NUM_THREADS of the server, instead of ours")
    add("--json", type=Path, help="write every number here")
    return parser


def _spec(args: argparse.Namespace, folder: Path) -> ServerSpec:
    threads = {"OMP_NUM_THREADS": str(args.threads)} if args.threads else {}
    return ServerSpec(
        model=TINY_MODEL,
        page_size=args.page_size,
        chunk=CHUNK,
        port=pick_port(None),
        log=folder / "server.log",
        arguments=CPU.arguments,
        environment={**CPU.environment, "SGLANG_PLUGINS": "", **threads},
    )


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(": ")[1] for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _describe(argv: list[str], spec: ServerSpec) -> dict[str, Any]:
    """Machine, versions, commit, and the command that repeats the run."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "load": f"{os.getloadavg()[0]:.1f}",
        "torch": torch.__version__,
        "commit": subprocess.run(git, capture_output=True, text=True).stdout.strip(),
        "server": shlex.join(spec.arguments),
        "environment": dict(spec.environment),
        "command": shlex.join(["python", "-m", "benchmark.cpu_engine.run", *argv]),
    }


def _line(name: str, rates: list[float], cpu_ms: list[float]) -> str:
    return (
        f"{name}: {median(rates):.0f} tokens/s ({min(rates):.0f} to {max(rates):.0f}),"
        f" {median(cpu_ms):.2f} ms of CPU a token ({min(cpu_ms):.2f} to"
        f" {max(cpu_ms):.2f})"
    )


def _summarise(result: Mapping[str, Any]) -> list[str]:
    """One line per phase: medians and the range of the repeats."""
    lines = []
    for phase in ("prefill", "decode"):
        repeats = result[phase]
        lines.append(
            _line(
                phase,
                [repeat["tokens"] / repeat["wall_s"] for repeat in repeats],
                [1000 * repeat["cpu_s"] / repeat["tokens"] for repeat in repeats],
            )
        )
    return lines


def main(argv: list[str]) -> int:
    """0: measured; 1: wrong answers, nothing timed; 2: no server."""
    args = _parser().parse_args(argv)
    work = Workload.of(args.prompts, args.new_tokens)
    with tempfile.TemporaryDirectory() as folder:
        spec = _spec(args, Path(folder))
        environment = _describe(argv, spec)
        print(json.dumps(environment, indent=1), flush=True)
        try:
            with Server(spec) as server:
                started = time.monotonic()
                server.wait_until_ready()
                start_s = time.monotonic() - started
                wrong = find_wrong_answers(server, work)
                if wrong:
                    print("\n".join(wrong), file=sys.stderr)
                    return 1
                repeats = [measure(server, work) for _ in range(args.repeats)]
        except CannotMeasure as error:
            print(error, file=sys.stderr)
            return 2
    result = {
        "start_s": start_s,
        "prefill": [asdict(repeat.prefill) for repeat in repeats],
        "decode": [asdict(repeat.decode) for repeat in repeats],
    }
    print(
        f"start: {start_s:.1f} s until the first token", *_summarise(result), sep="\n"
    )
    if args.json:
        text = json.dumps({"environment": environment, **result}, indent=1)
        args.json.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
