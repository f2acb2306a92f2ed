"""Whatever a score depends on is in the recipe's key."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.gsm8k.model import MODEL_DIR
from page_size_eval.fingerprint import END_BYTES, WHOLE_BYTES, fingerprint_folder
from page_size_eval.recipe import key_of, make_recipe
from page_size_eval.serving.hardware import CPU, ROCM
from page_size_eval.settings import Settings

SETTINGS = Settings(
    page_sizes=(16,),
    model=MODEL_DIR,
    task="gsm_tiny",
    limit=12,
    concurrency=4,
    chunk=256,
    max_gen_toks=64,
)


def key(settings: Settings = SETTINGS) -> str:
    return key_of(make_recipe(settings, CPU))


@pytest.mark.parametrize(
    "change",
    [
        {"limit": 13},
        {"concurrency": 5},
        {"chunk": 128},
        {"max_gen_toks": 65},
        {"repeats": 3},
        {"defect": "page_granular"},
        {"server_arguments": ("--tp-size=2",)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_setting_is_another_key(change: dict[str, object]) -> None:
    assert key(replace(SETTINGS, **change)) != key()  # type: ignore[arg-type]


def test_key_is_stable() -> None:
    assert key() == key()


def test_page_sizes_share_a_key_and_so_the_baseline() -> None:
    assert key(replace(SETTINGS, page_sizes=(64,))) == key()


def test_hardware_and_environment_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    assert key_of(make_recipe(SETTINGS, ROCM)) != before
    monkeypatch.setenv("SGLANG_USE_AITER_UNIFIED_ATTN", "1")
    assert key() != before


def test_one_byte_of_the_model_counts(tmp_path: Path) -> None:
    model = tmp_path / MODEL_DIR.name
    shutil.copytree(MODEL_DIR, model)
    assert key(replace(SETTINGS, model=model)) == key()
    weights = model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    assert key(replace(SETTINGS, model=model)) != key()


def test_large_file_counts_by_its_size_and_both_ends(tmp_path: Path) -> None:
    large = tmp_path / "weights"
    seen = set()
    for size, at in (
        (WHOLE_BYTES + 1, None),
        (WHOLE_BYTES + 2, None),
        (WHOLE_BYTES + 1, END_BYTES - 1),
        (WHOLE_BYTES + 1, WHOLE_BYTES),
    ):
        with large.open("wb") as file:
            file.truncate(size)
            if at is not None:
                file.seek(at)
                file.write(b"x")
        seen.add(fingerprint_folder(tmp_path))
    assert len(seen) == 4
