"""Attention that sees q, k and v as an fp8_e4m3 KV cache at unit scales gives them."""

from dataclasses import dataclass, field

import torch
from transformers import LlamaForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

# Beyond this e4m3fn saturates or gives NaN, so values have to stay well below.
LARGEST_E4M3 = 448.0


@dataclass
class AttentionProbe:
    """Takes the place of a model's attention; records the largest |q|, |k|, |v|."""

    rounds_to_fp8: bool
    largest: dict[str, float] = field(
        default_factory=lambda: {"q": 0.0, "k": 0.0, "v": 0.0}
    )

    def install(self, model: LlamaForCausalLM) -> None:
        """Makes the model's layers call this object."""
        name = f"probe_{id(self)}"
        ALL_ATTENTION_FUNCTIONS.register(name, self)
        ALL_MASK_ATTENTION_FUNCTIONS.register(name, sdpa_mask)
        model.set_attn_implementation(name)

    def __call__(
        self,
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: object,
    ) -> tuple[torch.Tensor, None]:
        rounded = []
        for name, tensor in zip("qkv", (query, key, value), strict=True):
            largest = tensor.abs().max().item()
            self.largest[name] = max(self.largest[name], largest)
            rounded.append(round_to_e4m3(tensor) if self.rounds_to_fp8 else tensor)
        output, _ = sdpa_attention_forward(module, *rounded, attention_mask, **options)
        return output, None


def round_to_e4m3(tensor: torch.Tensor) -> torch.Tensor:
    """The values that survive a trip through float8_e4m3fn at unit scale."""
    return tensor.to(torch.float8_e4m3fn).to(tensor.dtype)
