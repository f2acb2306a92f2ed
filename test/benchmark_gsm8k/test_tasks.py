"""The lm-eval tasks: local data, the prompts of gsm8k's form, both filters."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lm_eval.tasks import TaskManager

from benchmark.gsm8k.dataset import DATA_DIR, read_split, to_jsonl
from benchmark.gsm8k.prompts import FEWSHOT_SEED, SHOTS, few_shot_prompts

TASKS = Path(__file__).resolve().parents[2] / "benchmark" / "gsm8k" / "tasks"


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No network, and a current directory from which no relative path works."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("GSM8K_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def manager() -> Any:
    return TaskManager(include_path=str(TASKS), include_defaults=False)


def _load(manager: Any, name: str) -> Any:
    task = manager.load([name])["tasks"][name]
    task.set_fewshot_seed(FEWSHOT_SEED)
    return task


def _contexts(task: Any, count: int) -> list[str]:
    docs = list(task.test_docs())[:count]
    return [task.fewshot_context(doc, num_fewshot=SHOTS) for doc in docs]


def test_tiny_prompts_are_those_of_our_own_evaluation(manager: Any) -> None:
    task = _load(manager, "gsm_tiny")
    pool, test = read_split(DATA_DIR, "train"), read_split(DATA_DIR, "test")
    assert _contexts(task, 5) == few_shot_prompts(pool, test[:5])
    assert len(task.test_docs()) == len(test)


def test_prompt_has_five_shots_and_an_open_question(manager: Any) -> None:
    task = _load(manager, "gsm_tiny")
    (context,) = _contexts(task, 1)
    doc = task.test_docs()[0]
    assert context.startswith("Question: ")
    assert context.count("\n#### ") == SHOTS
    assert context.endswith(f"\n\nQuestion: {doc['question']}\nAnswer:")
    assert task.config.target_delimiter + task.doc_to_target(doc) == f" {doc['answer']}"


def test_decoding_is_greedy_and_stops_at_the_next_question(manager: Any) -> None:
    settings = _load(manager, "gsm_tiny").config.generation_kwargs
    assert settings == {
        "do_sample": False,
        "temperature": 0.0,
        "until": ["Question:", "</s>", "<|im_end|>"],
    }


@pytest.mark.parametrize(
    ("text", "strict", "flexible"),
    [
        (" 3*4=12 cups.\n#### 12\n\n", "12", "12"),
        ("#### 5\nthen #### 7", "5", "7"),
        ("The answer is $1,234.", "[invalid]", "$1,234."),
        ("#### -8", "-8", "-8"),
        ("no number", "[invalid]", "[invalid]"),
    ],
)
def test_filters_read_the_answer(
    manager: Any, text: str, strict: str, flexible: str
) -> None:
    task = _load(manager, "gsm_tiny")
    request = SimpleNamespace(resps=[text], filtered_resps={}, doc={})
    for ensemble in task._filters:
        ensemble.apply([request])
    found = request.filtered_resps
    assert found == {"strict-match": strict, "flexible-extract": flexible}


def test_metric_ignores_commas_dollars_and_the_working(manager: Any) -> None:
    task = _load(manager, "gsm_tiny")
    doc = {"question": "?", "answer": "1000+234=1234\n#### 1234"}
    assert task.process_results(doc, ["$1,234."]) == {"exact_match": 1.0}
    assert task.process_results(doc, ["1235"]) == {"exact_match": 0.0}


def test_original_task_reads_the_named_folder(
    manager: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    train = [{"question": f"q{i}", "answer": f"a{i}\n#### {i}"} for i in range(6)]
    (tmp_path / "train.jsonl").write_text(to_jsonl(train), encoding="utf-8")
    (tmp_path / "test.jsonl").write_text(to_jsonl(train[:1]), encoding="utf-8")
    monkeypatch.setenv("GSM8K_DATA", str(tmp_path))
    task = _load(manager, "gsm8k_local")
    assert _contexts(task, 1) == few_shot_prompts(train, train[:1])


def test_original_task_without_the_variable_says_what_to_set(manager: Any) -> None:
    with pytest.raises(ValueError, match="GSM8K_DATA, which is not set"):
        _load(manager, "gsm8k_local")


def test_original_task_without_the_files_names_them(
    manager: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GSM8K_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="train.jsonl and test.jsonl in"):
        _load(manager, "gsm8k_local")
