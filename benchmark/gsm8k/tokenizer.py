"""The tokenizer of the tiny model: byte-level BPE with single digits."""

import json
import random
from itertools import islice
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from benchmark.gsm8k.generator import stream
from benchmark.gsm8k.prompts import document_text

VOCABULARY_SIZE = 576  # a multiple of 64, so nothing has to be padded
PAD, BOS, EOS = "<pad>", "<s>", "</s>"
SPECIAL_TOKENS = (PAD, BOS, EOS)
TRAINING_DOCUMENTS = 4000

CONFIG = {
    # This name loads with transformers 4 and 5 alike.
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": BOS,
    "eos_token": EOS,
    "pad_token": PAD,
    # Prompts start at "Question:": a server must see what training saw.
    "add_bos_token": False,
    "add_eos_token": False,
    "clean_up_tokenization_spaces": False,
    "model_max_length": 4096,
}


def train_tokenizer(seed: int) -> Tokenizer:
    """A tokenizer trained on generated documents; equal seeds give equal ones."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            # Newlines and digits stand alone: then documents tokenise to the same
            # tokens alone and joined, and numbers are spelled in one way.
            pre_tokenizers.Split(Regex("\n"), behavior="isolated"),
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    problems = stream(random.Random(f"{seed}:tokenizer"))
    # The package's own stubs leave this constructor untyped.
    trainer = BpeTrainer(  # type: ignore[no-untyped-call]
        vocab_size=VOCABULARY_SIZE,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (
        document_text(problem.record())
        for problem in islice(problems, TRAINING_DOCUMENTS)
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes the two files that transformers' AutoTokenizer reads."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    text = json.dumps(CONFIG, indent=2) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
