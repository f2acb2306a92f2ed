"""The committed splits: made by the seed, and disjoint from all training."""

import random
from dataclasses import replace
from itertools import islice

from tokenizers import Tokenizer

from benchmark.gsm8k.batches import BatchShape, PackedBatches
from benchmark.gsm8k.dataset import (
    DATA_DIR,
    DATA_SEED,
    TEST_SIZE,
    TRAIN_SIZE,
    make_splits,
    read_split,
    to_jsonl,
)
from benchmark.gsm8k.generator import TEMPLATES, HeldOut, stream
from benchmark.gsm8k.model import MODEL_DIR


def test_committed_files_equal_what_the_seed_gives() -> None:
    for name, problems in make_splits(DATA_SEED).items():
        text = to_jsonl(problem.record() for problem in problems)
        committed = (DATA_DIR / f"{name}.jsonl").read_text(encoding="utf-8")
        assert committed == text, (
            f"{name}.jsonl differs from what the generator gives for seed {DATA_SEED}; "
            "train anew after a change of the templates"
        )


def test_another_seed_gives_other_problems() -> None:
    assert make_splits(DATA_SEED) != make_splits(DATA_SEED + 1)


def test_split_sizes() -> None:
    sizes = [len(read_split(DATA_DIR, name)) for name in ("train", "test")]
    assert sizes == [TRAIN_SIZE, TEST_SIZE]


def test_splits_share_no_sum_and_no_question() -> None:
    splits = make_splits()
    train, test = splits["train"], splits["test"]
    assert not {p.key for p in train} & {p.key for p in test}
    assert not {p.question for p in train} & {p.question for p in test}
    assert len({p.key for p in test}) == len({p.question for p in test}) == TEST_SIZE


def test_test_problems_cover_every_template() -> None:
    covered = {problem.template for problem in make_splits()["test"]}
    assert covered == {template.key for template in TEMPLATES}


def test_stream_leaves_out_what_is_held_out() -> None:
    drawn = list(islice(stream(random.Random(3)), 400))
    held_out = HeldOut.of(drawn[::2])
    kept = list(islice(stream(random.Random(3), held_out), 150))
    assert kept == [p for p in drawn if p not in held_out][:150]


def test_held_out_matches_by_sum_and_by_question() -> None:
    problem = next(stream(random.Random(0)))
    renamed = replace(problem, question="the same sum in other words")
    renumbered = replace(problem, numbers=(1, 2, 3))
    assert renamed in HeldOut.of([problem])
    assert renumbered in HeldOut.of([problem])
    assert replace(renamed, numbers=(1, 2, 3)) not in HeldOut.of([problem])


def test_training_batch_depends_on_seed_and_index_only() -> None:
    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    held_out = HeldOut.of(make_splits()["test"])
    first, again, other = (
        PackedBatches(tokenizer, held_out, BatchShape(3, 768), 10, seed)
        for seed in (1, 1, 2)
    )
    assert first[4].shape == (3, 768)
    assert first[4].equal(again[4])
    assert not first[4].equal(first[5])
    assert not first[4].equal(other[4])


def test_training_batches_hold_no_test_question() -> None:
    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    splits = make_splits()
    batches = PackedBatches(
        tokenizer, HeldOut.of(splits["test"]), BatchShape(64, 768), 2, 1
    )
    questions = {problem.question for problem in splits["test"]}
    texts = tokenizer.decode_batch(batches[0].tolist() + batches[1].tolist())
    seen = {
        part.split("\nAnswer:")[0]
        for text in texts
        for part in text.split("Question: ")
    }
    assert len(seen) > 500
    assert not seen & questions
