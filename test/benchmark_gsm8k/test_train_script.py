"""The training script's command line: help and exit codes."""

from pathlib import Path

import pytest

from scripts.train_gsm_tiny import COULD_NOT_RUN, main


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert "examples:" in capsys.readouterr().out


def test_missing_model_is_could_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--evaluate-only", "--device", "cpu", "--output", str(tmp_path)])
    assert code == COULD_NOT_RUN
    assert f"expected a trained model in {tmp_path}" in capsys.readouterr().err
