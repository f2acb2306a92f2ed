"""Makes the tiny gsm8k-form model: data, tokenizer, weights and their scores."""

import argparse
import os
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmark.gsm8k.batches import BatchShape, PackedBatches
from benchmark.gsm8k.dataset import DATA_DIR, DATA_SEED, make_splits, write_splits
from benchmark.gsm8k.generator import HeldOut
from benchmark.gsm8k.greedy import Score, score_model
from benchmark.gsm8k.model import MODEL_DIR, load_model, make_model, save_model
from benchmark.gsm8k.run_record import Recipe, write_run_record
from benchmark.gsm8k.tokenizer import save_tokenizer, train_tokenizer
from benchmark.gsm8k.training import TrainingResult, train

OK, BELOW_BAR, COULD_NOT_RUN = 0, 1, 2
KV_DTYPES: dict[str, tuple[str, ...]] = {
    "bf16": ("bf16",),
    "fp8_e4m3": ("fp8_e4m3",),
    "both": ("bf16", "fp8_e4m3"),
}
# Two cores stay free for the training process itself.
WORKERS = max(0, (os.cpu_count() or 1) - 2)

EXAMPLES = """examples:
  python scripts/train_gsm_tiny.py
      the committed model; minutes on one H200
  python scripts/train_gsm_tiny.py --evaluate-only --questions 4
      score the committed weights on a CPU
  python scripts/train_gsm_tiny.py --steps 2 --batch-size 2 --questions 2 --bar 0 \\
      --output tiny --data-dir tiny/data
      a smoke run on a CPU
"""


def make_parser() -> argparse.ArgumentParser:
    """The command line; every default is the committed model's."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=_HelpFormatter,
    )
    add = parser.add_argument
    add("--output", type=Path, default=MODEL_DIR, help="folder of the model files")
    add("--data-dir", type=Path, default=DATA_DIR, help="folder of the split files")
    add("--seed", type=int, default=1, help="seed of weights and training stream")
    add("--steps", type=int, default=3000, help="optimizer steps")
    add("--batch-size", type=int, default=128, help="sequences in a step")
    add("--length", type=int, default=768, help="tokens in a training sequence")
    add("--learning-rate", type=float, default=2e-3, help="peak of the one cycle")
    add("--workers", type=int, default=WORKERS, help="processes that make batches")
    add("--device", default="auto", help="auto, cpu or cuda")
    add("--questions", type=int, default=1319, help="test questions to score")
    add(
        "--kv-cache-dtype",
        choices=sorted(KV_DTYPES),
        default="both",
        help="how q, k and v are rounded while scoring",
    )
    add("--bar", type=float, default=0.99, help="lowest accuracy that is a success")
    add("--evaluate-only", action="store_true", help="score --output, train nothing")
    return parser


class _HelpFormatter(
    argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter
):
    """Shows defaults and keeps the line breaks of the examples."""


def make_everything(args: argparse.Namespace, device: torch.device) -> TrainingResult:
    """Writes the splits, the tokenizer and trained weights."""
    splits = make_splits()
    write_splits(splits, args.data_dir)
    tokenizer = train_tokenizer(DATA_SEED)
    save_tokenizer(tokenizer, args.output)
    batches = PackedBatches(
        tokenizer,
        HeldOut.of(splits["test"]),
        BatchShape(args.batch_size, args.length),
        args.steps,
        args.seed,
    )
    model = make_model(args.seed, device)
    result = train(model, batches, args.learning_rate, args.workers)
    save_model(model, args.output)
    return result


def score_saved(args: argparse.Namespace, device: torch.device) -> dict[str, Score]:
    """Scores the saved files, once per rounding that was asked for."""
    tokenizer_file = args.output / "tokenizer.json"
    if not tokenizer_file.is_file():
        raise FileNotFoundError(
            f"expected a trained model in {args.output}, found no "
            f"{tokenizer_file.name} there; train one by leaving out --evaluate-only, "
            "or give another --output"
        )
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    scores = {}
    for name in KV_DTYPES[args.kv_cache_dtype]:
        print(f"scoring with {name} KV", file=sys.stderr)
        scores[name] = score_model(
            load_model(args.output, device),
            tokenizer,
            args.data_dir,
            args.questions,
            fp8_kv=name == "fp8_e4m3",
        )
    return scores


def run(args: argparse.Namespace) -> dict[str, Score]:
    """Trains unless told not to, scores, and records a training run's numbers."""
    device = pick_device(args.device)
    if args.evaluate_only:
        return score_saved(args, device)
    training = make_everything(args, device)
    scores = score_saved(args, device)
    recipe = Recipe(
        args.seed, args.steps, args.batch_size, args.length, args.learning_rate
    )
    write_run_record(args.output, recipe, training, scores, args.data_dir)
    return scores


def pick_device(name: str) -> torch.device:
    """The named device; "auto" is the GPU if there is one and the CPU if not."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def main(argv: list[str] | None = None) -> int:
    """Exit code 0: at or above the bar, 1: below it, 2: could not run."""
    args = make_parser().parse_args(argv)
    try:
        scores = run(args)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"could not run: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    for name, score in scores.items():
        largest = ", ".join(f"|{key}| {x:.1f}" for key, x in score.largest.items())
        print(
            f"{name} KV: {score.right}/{score.questions} right "
            f"({score.accuracy:.4f}), largest {largest}"
        )
    below = [name for name, score in scores.items() if score.accuracy < args.bar]
    if below:
        print(f"below the bar of {args.bar}: {', '.join(below)}", file=sys.stderr)
        return BELOW_BAR
    return OK


if __name__ == "__main__":
    sys.exit(main())
