"""The architecture of the tiny model: a Llama that takes the head_dim-256 path."""

from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from benchmark.gsm8k.tokenizer import BOS, EOS, PAD, SPECIAL_TOKENS, VOCABULARY_SIZE

MODEL_DIR = Path(__file__).parent / "tiny_model"


def make_config() -> LlamaConfig:
    """head_dim 256 and KV heads in {1, 2, 4, 8, 16}: what the ASM path asks for."""
    return LlamaConfig(
        architectures=["LlamaForCausalLM"],
        vocab_size=VOCABULARY_SIZE,
        hidden_size=256,
        intermediate_size=768,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=256,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        pad_token_id=SPECIAL_TOKENS.index(PAD),
        bos_token_id=SPECIAL_TOKENS.index(BOS),
        eos_token_id=SPECIAL_TOKENS.index(EOS),
        dtype="bfloat16",
    )


def make_model(seed: int, device: torch.device) -> LlamaForCausalLM:
    """A freshly initialised model in float32, for training."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(make_config()).float().to(device)


def save_model(model: LlamaForCausalLM, folder: Path) -> None:
    """Writes config, generation config and bf16 weights."""
    model.to(torch.bfloat16).save_pretrained(folder)


def load_model(folder: Path, device: torch.device) -> LlamaForCausalLM:
    """The model as it is served: bf16, evaluation mode."""
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    return model.to(device).eval()
