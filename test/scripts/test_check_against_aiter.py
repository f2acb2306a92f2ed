"""scripts/check_against_aiter.py on a made-up checkout, of a few lines of our own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from aiter_checkout import decode, prefill
from aiter_checkout.cases import grid
from aiter_reference import calls, reset_calls
from scripts import check_against_aiter as script

DECODE = """
import torch
from aiter import dtypes
from aiter.test_common import perftest


@perftest()
def run_kernel(query):
    return torch.ops.aiter.decode(query)


def run_torch_new(query, keys, values, tables, lens, *settings):
    scale, cap, group = settings[3], settings[5], settings[8]
    size = keys.shape[2]
    out = torch.zeros_like(query)
    for row, length in enumerate(lens.tolist()):
        at = torch.arange(length)
        page = tables[row].long()[at // size]
        for head in range(query.shape[1]):
            k = keys[page, head // group, at % size]
            scores = scale * (k @ query[row, head])
            if cap > 0:
                scores = cap * (scores / cap).tanh()
            v = values[page, head // group, at % size]
            out[row, head] = scores.softmax(0) @ v
    return out, 1
"""
PREFILL = """
import math

import torch
from aiter import per_tensor_quant


def seen(queries, keys, causal, left):
    position = torch.arange(keys - queries, keys)[:, None]
    key = torch.arange(keys)[None]
    mask = key <= position if causal else key >= 0
    return mask & (key >= position - left) if left >= 0 else mask.expand(queries, -1)


def ref_masked_attention(q, k, v, causal=False, window_left=-1, logits_soft_cap=0.0):
    out = []
    mask = seen(len(q), len(k), causal, window_left)
    for head in range(q.shape[1]):
        scores = q[:, head] @ k[:, head].T / math.sqrt(q.shape[2])
        weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
        out.append(weights.masked_fill(~mask, 0.0) @ v[:, head])
    return torch.stack(out, 1)
"""
PAIRS = (
    replace(
        decode.DECODE,
        cases=tuple(grid(batch=("decode",), page_size=(1, 16), soft_cap=(0.0, 5.0))),
    ),
    replace(
        prefill.ROWS,
        cases=tuple(
            grid(
                batch=("ragged", "more queries than keys"),
                layout__page_size=(("3D", 1), ("4D", 64)),
                window=((-1, -1), (20, -1)),
            )
        ),
    ),
)
CASES = {pair.kernel: len(pair.cases) for pair in PAIRS}


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """As many as before: the script takes one."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "op_tests").mkdir()
    (tmp_path / decode.FILE).write_text(DECODE)
    (tmp_path / prefill.FILE).write_text(PREFILL)
    monkeypatch.setattr(script, "PAIRS", PAIRS)
    return tmp_path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(script.app, [str(argument) for argument in arguments])


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1, before
    path.write_text(text.replace(before, after))


def test_references_that_agree(checkout: Path, tmp_path: Path) -> None:
    reset_calls()
    page = tmp_path / "page.md"
    done = run(checkout, "--markdown", page)
    assert done.exit_code == script.AGREE, done.output
    assert dict(calls) == CASES
    for pair in PAIRS:
        count = len(pair.cases)
        cells = f"`{pair.reference}` | `{pair.kernel}` | {count} | {count} | 0 | 0 | 0"
        assert cells in page.read_text(), page.read_text()
        assert pair.reference in done.stdout


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        (prefill.FILE, "key <= position", "key < position"),
        (prefill.FILE, "position - left", "position - left + 1"),
        (prefill.FILE, "/ math.sqrt(q.shape[2])", ""),
        (decode.FILE, "scale * ", ""),
        (decode.FILE, "torch.arange(length)", "torch.arange(-(-length // 2))"),
        (decode.FILE, "at // size", "0 * at"),
        (decode.FILE, "v = values[page, head // group", "v = values[page, 0"),
    ],
)
def test_a_reference_that_differs_is_a_disagreement(
    checkout: Path, file: str, before: str, after: str
) -> None:
    edit(checkout / file, before, after)
    done = run(checkout)
    assert done.exit_code == script.DISAGREE, done.output
    (pair,) = (pair for pair in PAIRS if pair.file == file)
    said = " ".join(done.stderr.split())
    assert f"disagrees: {pair.reference}, {pair.kernel}, batch=" in said
    assert "elements, the first at (" in said


def test_a_missing_name_is_said_and_the_rest_is_measured(checkout: Path) -> None:
    edit(checkout / decode.FILE, "def run_torch_new", "def run_torch_newer")
    reset_calls()
    done = run(checkout)
    assert done.exit_code == script.NOT_MEASURED, done.output
    expected = f"cannot measure: {decode.FILE}: expected a function run_torch_new, got"
    said = " ".join(done.stderr.split())
    assert expected in said
    assert "nearest run_torch_newer" in said
    assert "Next: " in said
    assert dict(calls) == {prefill.KERNEL: CASES[prefill.KERNEL]}


def test_other_arguments_cannot_be_measured(checkout: Path) -> None:
    edit(checkout / prefill.FILE, "window_left=-1", "window=-1")
    done = run(checkout)
    assert done.exit_code == script.NOT_MEASURED, done.output
    said = " ".join(done.stderr.split())
    assert "expected a result, got ref_masked_attention: TypeError: " in said


def test_a_disagreement_outweighs_what_is_missing(checkout: Path) -> None:
    edit(checkout / prefill.FILE, "key <= position", "key < position")
    (checkout / decode.FILE).unlink()
    done = run(checkout)
    assert done.exit_code == script.DISAGREE, done.output
    assert f"cannot measure: {decode.FILE}: expected in" in done.stderr


def test_what_is_no_checkout_cannot_be_measured(tmp_path: Path) -> None:
    done = run(tmp_path / "nowhere")
    assert done.exit_code == script.NOT_MEASURED, done.output
    assert "expected an aiter checkout" in " ".join(done.stderr.split())


def test_only_takes_a_kernel_or_a_reference_and_refuses_another_name(
    checkout: Path,
) -> None:
    for name in (decode.KERNEL, "run_torch_new"):
        reset_calls()
        assert run(checkout, "--only", name).exit_code == script.AGREE
        assert dict(calls) == {decode.KERNEL: CASES[decode.KERNEL]}
    done = run(checkout, "--only", "mla")
    assert done.exit_code == script.NOT_MEASURED, done.output
    said = " ".join(done.stderr.split())
    assert "expected one of" in said
    assert "run_torch_new" in said
    assert "got mla" in said


def test_a_reference_that_is_never_compared_cannot_be_measured(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = replace(PAIRS[0], cases=tuple(grid(batch=("decode",), beyond=("HND",))))
    monkeypatch.setattr(script, "PAIRS", (none,))
    done = run(checkout)
    assert done.exit_code == script.NOT_MEASURED, done.output
    assert "expected cases to compare, got none of 1" in " ".join(done.stderr.split())


def test_the_softsign_form_is_refused(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(script.SOFT_CAP_FORM, "1")
    done = run(checkout)
    assert done.exit_code == script.NOT_MEASURED, done.output
    assert "the soft cap by tanh, got 1" in " ".join(done.stderr.split())
