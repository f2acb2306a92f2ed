"""Share of the K/V gather in the attention of one context chunk, on the GPU at hand.

The attention is torch's SDPA in bf16 with grouped KV heads, in place of the fp8 ASM
kernel, which runs on gfx950 only: a faster attention kernel makes the share larger.
The fp8 rows are gathered by `gather_kv`; their conversion to bf16 is not timed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from benchmark.kv_gather.batches import make_pool, shuffled_slots
from benchmark.kv_gather.environment import describe_environment
from benchmark.kv_gather.gather_grid import window
from benchmark.kv_gather.modules import GATHER_FILE, load_file
from benchmark.kv_gather.timing import calls_for_cold_cache, time_interleaved

CONTEXTS = [8192, 32768, 131072]
CHUNK = 4096
ROWS = [256, 512]
# Q heads for each KV head.
GROUP = 8
SEED = 5
POOL_SLOTS = 2**20


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: python -m benchmark.prefill.run --contexts 32768",
    )
    add = parser.add_argument
    add(
        "--contexts",
        type=int,
        nargs="+",
        default=CONTEXTS,
        help="tokens, chunk included",
    )
    add(
        "--chunk",
        type=int,
        default=CHUNK,
        help="tokens of the chunk; default %(default)s",
    )
    add(
        "--rows", type=int, nargs="+", default=ROWS, help="K row bytes: 256 per KV head"
    )
    add(
        "--group",
        type=int,
        default=GROUP,
        help="Q heads per KV head; default %(default)s",
    )
    add("--seed", type=int, default=SEED, help="default %(default)s")
    add("--json", type=Path, help="write every number here")
    return parser


def _attention(
    chunk: int, context: int, kv_heads: int, group: int
) -> Callable[[int], Any]:
    """SDPA of `chunk` queries over `context` tokens that end with them."""

    def heads(count: int, tokens: int) -> torch.Tensor:
        return torch.randn(1, count, tokens, 256, dtype=torch.bfloat16, device="cuda")

    q = heads(kv_heads * group, chunk)
    k, v = heads(kv_heads, context), heads(kv_heads, context)
    # Expanded here, since not every backend that skips masked tiles groups heads.
    k, v = (t.repeat_interleave(group, 1) for t in (k, v))
    mask = causal_lower_right(chunk, context)
    return lambda call: scaled_dot_product_attention(q, k, v, attn_mask=mask)


def measure_chunk(
    gather: Callable[..., Any], args: argparse.Namespace, row_bytes: int, context: int
) -> dict[str, Any]:
    """Device time per layer of the gather and of the attention it feeds."""
    pool = make_pool(row_bytes, POOL_SLOTS)
    slots = shuffled_slots(POOL_SLOTS, "page 16")
    gathers = time_interleaved(
        {"gather": lambda call: gather(pool.k, pool.v, window(slots, call, context))},
        calls_for_cold_cache(4 * context * row_bytes),
    )
    attention = _attention(args.chunk, context, row_bytes // 256, args.group)
    times = gathers | time_interleaved({"attention": attention}, 2)
    return {
        "row_bytes": row_bytes,
        "context": context,
        "chunk": args.chunk,
        "q_heads": row_bytes // 256 * args.group,
        "share": times["gather"].us / (times["gather"].us + times["attention"].us),
        **{name: asdict(spread) for name, spread in times.items()},
    }


def main(argv: list[str]) -> int:
    """0: measured; 2: no GPU."""
    args = _parser().parse_args(argv)
    if not torch.cuda.is_available():
        print("no CUDA or ROCm GPU", file=sys.stderr)
        return 2
    torch.manual_seed(args.seed)
    environment = describe_environment("benchmark.prefill.run", argv, args.seed)
    print(json.dumps(environment, indent=1))
    gather = load_file(GATHER_FILE).gather_kv
    lines = []
    for row_bytes in args.rows:
        for context in args.contexts:
            line = measure_chunk(gather, args, row_bytes, context)
            lines.append(line)
            print(
                f"row {row_bytes} B, {line['q_heads']} q heads, chunk {args.chunk},"
                f" context {context}: gather {line['gather']['us']:.1f} us, SDPA bf16"
                f" {line['attention']['us']:.0f} us, share {line['share']:.1%}",
                flush=True,
            )
    if args.json:
        result = {"environment": environment, "prefill": lines}
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
