"""The committed model: takes the right branch, is small, and answers."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from benchmark.gsm8k.dataset import DATA_DIR, read_split, split_hashes
from benchmark.gsm8k.kv_cache_rounding import (
    LARGEST_E4M3,
    AttentionProbe,
    round_to_e4m3,
)
from benchmark.gsm8k.model import MODEL_DIR, load_model
from benchmark.gsm8k.prompts import few_shot_prompts

WEIGHTS = MODEL_DIR / "model.safetensors"
LARGEST_FILE = 12_000_000


def _read_json(name: str) -> dict[str, object]:
    content = json.loads((MODEL_DIR / name).read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def test_config_takes_the_head_dim_256_branch() -> None:
    config = _read_json("config.json")
    expected = {
        "architectures": ["LlamaForCausalLM"],
        "head_dim": 256,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "dtype": "bfloat16",
        "tie_word_embeddings": True,
        "max_position_embeddings": 4096,
    }
    assert {key: config.get(key) for key in expected} == expected
    # A window or a soft cap would send the layer down another path.
    assert not {"sliding_window", "attn_logit_softcapping"} & set(config)


def test_weights_are_bf16_and_small() -> None:
    size = WEIGHTS.stat().st_size
    assert size <= LARGEST_FILE, f"{size} bytes"
    assert {tensor.dtype for tensor in load_file(WEIGHTS).values()} == {torch.bfloat16}


def test_run_record_belongs_to_the_committed_data() -> None:
    record = _read_json("training.json")
    assert record["data_sha256"] == split_hashes(DATA_DIR)


def test_model_card_states_the_recorded_numbers() -> None:
    card = (MODEL_DIR / "README.md").read_text(encoding="utf-8")
    scores = _read_json("training.json")["scores"]
    assert isinstance(scores, dict)
    for name, score in scores.items():
        assert re.search(rf"{name}.*{score['right']} of {score['questions']}", card)


@pytest.mark.parametrize(("rounds_to_fp8", "questions"), [(False, 8), (True, 4)])
def test_greedy_choice_is_the_reference_answer(
    rounds_to_fp8: bool, questions: int
) -> None:
    """Each answer token is the likeliest after those before it: greedy gives it."""
    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    model = load_model(MODEL_DIR, torch.device("cpu"))
    probe = AttentionProbe(rounds_to_fp8)
    probe.install(model)
    asked = read_split(DATA_DIR, "test")[:questions]
    prompts = few_shot_prompts(read_split(DATA_DIR, "train"), asked)
    for prompt, record in zip(prompts, asked, strict=True):
        prompt_ids = tokenizer.encode(prompt).ids
        wanted = tokenizer.encode(f" {record['answer']}\n\nQuestion:").ids
        with torch.no_grad():
            logits = model(
                input_ids=torch.tensor([prompt_ids + wanted]), use_cache=False
            ).logits[0]
        chosen = logits[len(prompt_ids) - 1 : -1].argmax(-1).tolist()
        assert chosen == wanted, f"got {tokenizer.decode(chosen)!r} for {record}"
    assert 0 < max(probe.largest.values()) < LARGEST_E4M3 / 8, probe.largest


def test_rounding_keeps_four_significant_bits() -> None:
    values = torch.tensor([1.0, 1.0625, 1.125, 3.3, -448.0])
    rounded = round_to_e4m3(values)
    assert rounded.tolist() == [1.0, 1.0, 1.125, 3.25, -448.0]
