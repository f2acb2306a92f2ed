"""The tokenizer: what a server does with text agrees with what training saw."""

import random
import re

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from benchmark.gsm8k.dataset import DATA_DIR, DATA_SEED, read_split
from benchmark.gsm8k.model import MODEL_DIR
from benchmark.gsm8k.prompts import few_shot_prompts
from benchmark.gsm8k.tokenizer import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    VOCABULARY_SIZE,
    train_tokenizer,
)

TRAINED_TOKENS = 768


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(MODEL_DIR)


def _random_text(seed: int) -> str:
    """Code points from all planes, without the surrogates that UTF-8 cannot hold."""
    rng = random.Random(seed)
    points = [rng.randrange(rng.choice([0x80, 0x3000, 0x110000])) for _ in range(200)]
    return "".join(chr(p) for p in points if not 0xD800 <= p <= 0xDFFF)


@pytest.mark.parametrize("seed", range(20))
def test_any_text_survives_a_round_trip(
    tokenizer: PreTrainedTokenizerBase, seed: int
) -> None:
    text = _random_text(seed)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("text", [" a  b ,c . 'd \n\n\n", "\ttab", "#### 12", "日本🙂"])
def test_spaces_and_newlines_survive_a_round_trip(
    tokenizer: PreTrainedTokenizerBase, text: str
) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_digits_are_single_tokens(tokenizer: PreTrainedTokenizerBase) -> None:
    with_digit = [token for token in tokenizer.get_vocab() if re.search(r"\d", token)]
    assert sorted(with_digit) == list("0123456789")


def test_special_tokens_are_defined_and_not_added(
    tokenizer: PreTrainedTokenizerBase,
) -> None:
    defined = (tokenizer.pad_token, tokenizer.bos_token, tokenizer.eos_token)
    assert defined == SPECIAL_TOKENS == (PAD, BOS, EOS)
    ids = tokenizer.encode("Question: one\nAnswer:")
    assert not set(ids) & set(tokenizer.all_special_ids)
    assert len(tokenizer) == VOCABULARY_SIZE


def test_committed_file_equals_what_the_seed_gives() -> None:
    committed = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    assert train_tokenizer(DATA_SEED).get_vocab() == committed.get_vocab()


def test_prompt_and_answer_tokenise_alike_apart_and_joined() -> None:
    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    pool, test = read_split(DATA_DIR, "train"), read_split(DATA_DIR, "test")
    prompts = few_shot_prompts(pool, test)
    lengths = []
    for prompt, record in zip(prompts, test, strict=True):
        answer = f" {record['answer']}\n\n"
        apart = tokenizer.encode(prompt).ids + tokenizer.encode(answer).ids
        assert tokenizer.encode(prompt + answer).ids == apart, record["question"]
        lengths.append((len(tokenizer.encode(prompt).ids), len(apart)))
    # At least two chunks of 256, and no position that training did not see.
    assert min(prompt for prompt, _ in lengths) > 256
    assert max(whole for _, whole in lengths) <= TRAINED_TOKENS
