"""A prompt's attention does not depend on how an fp8 cache scales, pages or cuts it."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from sglang.srt.layers.attention.aiter_backend import AiterAttnBackend

from backend.oracle import assert_right
from backend.shapes import Setup
from fp8_scales.prompts import CUTS, LENS, Case, Cut, Write, serve
from page_size_eval.defect import CATALOGUE

CALIBRATED = Setup(k_scale=0.5, v_scale=0.25)
UNCALIBRATED = replace(CALIBRATED, k_scale=1.0, v_scale=1.0)
# No power of two: what is stored has been rounded after the division.
ODD = replace(CALIBRATED, k_scale=0.3, v_scale=0.7)
NO_VIEW = ("no view",)
ARMS = [(1, NO_VIEW), (16, NO_VIEW), (64, NO_VIEW), (64, ())]

ASM = "flash_attn_varlen_fp8_pertensor_func: {} chunk, head_dim {}"
PAGED, PAGES = (f"mha_batch_prefill_func: fp8 {of}" for of in ("slots", "pages of 64"))


def forms(case: Case) -> list[str]:
    """The kernel of each step, as the backend chooses it."""
    setup, steps = case.setup, len(CUTS[case.cut])
    if setup.q_heads == 6:
        return [PAGED] * steps
    first, later = (ASM.format(chunk, setup.head_dim) for chunk in ("first", "context"))
    if (setup.page_size, setup.head_dim) == (64, 256) and case.switches != NO_VIEW:
        later = PAGES
    return [first, later][:steps]


def check(case: Case) -> torch.Tensor:
    """The outputs, which are right and came from the expected kernels."""
    served = serve(case)
    assert served.forms == forms(case)
    assert_right(served.got, served.want)
    return served.got


@pytest.mark.parametrize("setup", [CALIBRATED, ODD, UNCALIBRATED])
@pytest.mark.parametrize(("page_size", "switches"), ARMS)
@pytest.mark.parametrize("cut", CUTS)
def test_output_is_attention_over_the_stored_kv(
    cut: Cut, page_size: int, switches: tuple[str, ...], setup: Setup
) -> None:
    check(Case(replace(setup, page_size=page_size), cut, switches))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    "setup",
    [
        # The ASM kernel has no such GQA ratio: the paged one serves.
        replace(CALIBRATED, q_heads=6),
        replace(CALIBRATED, head_dim=128),
        replace(CALIBRATED, scaling=0.03),
        replace(CALIBRATED, head_dim=128, scaling=0.03),
    ],
)
def test_other_layers_are_right_too(setup: Setup, cut: Cut) -> None:
    check(Case(setup, cut))


def test_first_chunk_over_a_5d_pool_is_right() -> None:
    """Its rows cannot be gathered; its write leaves K and V divided in place."""
    check(Case(CALIBRATED, "whole", ("5D",)))


@pytest.mark.parametrize("cut", CUTS)
def test_values_beyond_fp8_saturate(cut: Cut) -> None:
    # Scores of a size that gives weight to more than one key.
    check(Case(replace(CALIBRATED, scaling=1e-6), cut, loudness=300.0))


@pytest.mark.parametrize("head_dim", [128, 256])
@pytest.mark.parametrize("cut", CUTS)
def test_every_page_size_gives_the_same_bits(cut: Cut, head_dim: int) -> None:
    setup = replace(CALIBRATED, head_dim=head_dim)
    one, *others = (check(Case(replace(setup, page_size=p), cut)) for p in (1, 16, 64))
    assert all(torch.equal(one, other) for other in others)


@pytest.mark.parametrize("write", ["in place", "before"])
@pytest.mark.parametrize("cut", CUTS)
def test_who_wrote_the_cache_does_not_matter(cut: Cut, write: Write) -> None:
    case = Case(CALIBRATED, cut)
    assert torch.equal(check(case), check(replace(case, write=write)))


@contextmanager
def planted(defect: str) -> Iterator[None]:
    """The backend with a defect of the catalogue in it."""
    backend: Any = AiterAttnBackend
    before = dict(vars(backend))
    runpy.run_path(str(CATALOGUE / f"{defect}.py"))["plant"]()
    try:
        yield
    finally:
        for name, value in before.items():
            if vars(backend)[name] is not value:
                setattr(backend, name, value)


def steps_of_tokens(cut: Cut) -> torch.Tensor:
    """[tokens of all prompts] the step that each token is in."""
    return torch.cat(
        [
            torch.full((tokens,), at)
            for prompt in range(len(LENS))
            for at, step in enumerate(CUTS[cut])
            for which, tokens in step
            if which == prompt
        ]
    )


@pytest.mark.parametrize(
    ("defect", "step"), [("no_prefix_scales", 0), ("context_q_scale", 1)]
)
def test_defect_is_seen_in_the_chunks_that_it_is_in(defect: str, step: int) -> None:
    case = Case(CALIBRATED, "chunks")
    with planted(defect):
        served = serve(case)
    assert served.forms == forms(case)
    error = (served.got.double() - served.want).flatten(1).norm(dim=1)
    relative = error / served.want.flatten(1).norm(dim=1)
    # A prompt's first token has one key, whose weight is 1 whatever its score is.
    relative[torch.tensor([0, *LENS[:-1]]).cumsum(0)] = torch.nan
    faulty = steps_of_tokens(case.cut) == step
    assert relative[faulty].nan_to_num(torch.inf).min() > 0.05, relative
    assert relative[~faulty].nan_to_num(0.0).max() < 0.005, relative


@pytest.mark.parametrize("defect", ["no_prefix_scales", "context_q_scale"])
def test_defect_is_unseen_at_unit_scales(defect: str) -> None:
    case = Case(UNCALIBRATED, "chunks")
    with planted(defect):
        got = check(case)
    assert torch.equal(got, check(case))
