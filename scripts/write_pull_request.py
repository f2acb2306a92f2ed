"""Write the figures of docs/upstream/pull_request.md from committed results.

Example: .venv/bin/python scripts/write_pull_request.py --check
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from scripts.regions import table, update  # noqa: E402
from sglang_graft.changes import CHANGES  # noqa: E402

PAGE = ROOT / "docs" / "upstream" / "pull_request.md"
GSM8K = ROOT / "benchmark" / "gsm8k" / "results"
GATHER = ROOT / "benchmark" / "kv_gather" / "results" / "h200.json"
PREFILL = ROOT / "benchmark" / "prefill" / "results" / "h200.json"
# Contexts and rows of one and of two KV heads per rank, head_dim 256.
TOKENS = (8192, 131072)
ROW_BYTES = (256, 512)
RELEASES = ("0.5.19", "0.5.23")


def list_changes() -> str:
    """Each change, and what it is for."""
    items = []
    for change in CHANGES:
        problem = change.body.partition("\n\n")[0].removeprefix("Problem: ")
        sentence = " ".join(problem.split())
        sentence = sentence[0].upper() + sentence[1:]
        items.append(f"- **{change.subject}** (`{change.name}`). {sentence}")
    return "\n".join(items)


def show_accuracy(results: Sequence[Mapping[str, Any]]) -> str:
    """Each committed run of `make gsm8k`: its arms, and what it concludes."""
    if not results:
        return "No run of `make gsm8k` is committed yet."
    return "\n\n".join("\n".join(_run(result)) for result in results)


def _run(result: Mapping[str, Any]) -> Iterator[str]:
    recipe, comparison = result["recipe"], result["comparison"]
    sglang = recipe["versions"].get("sglang", "unknown")
    planted = recipe["planted_defect"]
    yield (
        f"`{recipe['model']}`, task `{recipe['task']}`, {comparison['n']} questions,"
        f" SGLang {sglang}, {recipe['hardware']}, prefill chunk"
        f" {recipe['chunk']}{f', **planted defect {planted}**' if planted else ''}:"
    )
    yield ""
    filters = list(comparison["arms"][0]["accuracy"])
    by_arm = {pair["arm"]: pair for pair in comparison["pairs"]}
    header = ["arm", "n", *filters, "ASM hits", "fallbacks"]
    header += ["points against page 1 [95 %]", "lost / gained", "verdict"]
    yield table(header, [_arm(arm, by_arm, filters) for arm in comparison["arms"]])
    yield ""
    yield f"{comparison['conclusion']}."


def _arm(
    arm: Mapping[str, Any],
    by_arm: Mapping[str, Mapping[str, Any]],
    filters: Sequence[str],
) -> list[str]:
    scores = [f"{arm['accuracy'][name]['share']:.4f}" for name in filters]
    fallbacks = sum(arm["prefill"]["fallbacks"].values())
    row = [arm["arm"], str(arm["n"]), *scores]
    row += [str(arm["prefill"]["hits"]), str(fallbacks)]
    pair = by_arm.get(arm["arm"])
    if pair is None:
        return [*row, "", "", "baseline"]
    difference = pair["by_filter"][filters[0]]
    estimate, low, high = (
        f"{100 * share:+.2f}"
        for share in (difference["estimate"], *difference["interval"])
    )
    points = f"{estimate} [{low}, {high}]"
    flips = f"{difference['table']['lost']} / {difference['table']['gained']}"
    return [*row, points, flips, pair["verdict"]]


def show_speed(gather: Mapping[str, Any], prefill: Mapping[str, Any]) -> str:
    """The gather with its indices over 15 layers, and its share of a chunk."""
    where = gather["environment"]
    times = {
        (line["path"], line["row_bytes"], line["tokens"]): line
        for line in gather["forward"]
    }
    rows = [
        _forward(times, row_bytes, tokens)
        for row_bytes in ROW_BYTES
        for tokens in TOKENS
    ]
    header = ["row bytes", "tokens"]
    header += [f"SGLang {release}, ms" for release in RELEASES]
    header += ["this, ms", *(f"against {release}" for release in RELEASES)]
    share = max(line["share"] for line in prefill["prefill"])
    waits = {
        path: max(
            line["synchronisations"]
            for line in gather["indices"]
            if line["path"] == path
        )
        for path in ("0.5.19", "ours")
    }
    return "\n".join(
        [
            f"On one {where['gpu']}, torch {where['torch']}, Triton {where['triton']}:"
            " indices and gather of a 15-layer forward, wall time, median.",
            "",
            table(header, rows),
            "",
            f"Synchronisations of an ordinary batch: {waits['ours']}, in 0.5.19"
            f" {waits['0.5.19']} per layer. Share of the gather in a whole context"
            f" chunk against bf16 SDPA: at most {100 * share:.1f} %.",
        ]
    )


def _forward(
    times: Mapping[tuple[str, int, int], Mapping[str, Any]], row_bytes: int, tokens: int
) -> list[str]:
    ours = times["ours", row_bytes, tokens]["wall"]["us"]
    theirs = [times[r, row_bytes, tokens]["wall"]["us"] for r in RELEASES]
    return [
        str(row_bytes),
        f"{tokens:,}",
        *(f"{us / 1000:.2f}" for us in (*theirs, ours)),
        *(f"{us / ours:.2f}x" for us in theirs),
    ]


def regions() -> dict[str, str]:
    """The generated parts of the page, by name."""
    committed = sorted(GSM8K.glob("*.json"))
    return {
        "changes": list_changes(),
        "accuracy": show_accuracy([json.loads(p.read_text()) for p in committed]),
        "speed": show_speed(
            json.loads(GATHER.read_text()), json.loads(PREFILL.read_text())
        ),
    }


def main(argv: Sequence[str] | None = None) -> int:
    return update(PAGE, regions(), argv, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
