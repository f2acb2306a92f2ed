"""The training loop: AdamW with a one-cycle learning rate on packed batches."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import LlamaForCausalLM

from benchmark.gsm8k.batches import PackedBatches

GRADIENT_CLIP = 1.0
REPORT_EVERY = 100


@dataclass(frozen=True)
class TrainingResult:
    """What a run gives besides the weights."""

    loss: float
    seconds: float


def train(
    model: LlamaForCausalLM,
    batches: PackedBatches,
    learning_rate: float,
    workers: int,
) -> TrainingResult:
    """Trains in place for one step per batch; the loss is the last steps' mean."""
    device = model.device
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, eps=1e-8)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=learning_rate, total_steps=len(batches), pct_start=0.1
    )
    # A running mean on the device: reading every loss would wait for every step.
    recent = torch.zeros((), device=device)
    start = time.perf_counter()
    model.train()
    for step, ids in enumerate(_load(batches, workers), start=1):
        loss = next_token_loss(model, ids.to(device, non_blocking=True))
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), GRADIENT_CLIP)
        optimizer.step()
        schedule.step()
        share = max(1 / step, 1 / REPORT_EVERY)
        recent += share * (loss.detach() - recent)
        if step % REPORT_EVERY == 0 or step == len(batches):
            seconds = time.perf_counter() - start
            print(
                f"step {step}/{len(batches)}: loss {recent.item():.4f}, "
                f"{seconds:.0f} s",
                file=sys.stderr,
            )
    return TrainingResult(recent.item(), time.perf_counter() - start)


def next_token_loss(model: LlamaForCausalLM, ids: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy of each token given those before it, under bf16 autocast."""
    with torch.autocast(ids.device.type, dtype=torch.bfloat16):
        logits = model(input_ids=ids, use_cache=False).logits
    return F.cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten())


def _load(batches: PackedBatches, workers: int) -> Iterator[torch.Tensor]:
    """The batches in order, made ahead of time by `workers` processes."""
    # Forked workers start at once; spawned ones would import torch and transformers
    # again, which can take minutes. They touch no GPU, so forking is safe.
    context = "fork" if workers else None
    return iter(
        DataLoader(
            batches,
            batch_size=None,
            num_workers=workers,
            multiprocessing_context=context,
            pin_memory=torch.cuda.is_available(),
        )
    )
