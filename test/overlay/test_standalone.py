"""The overlay file imports where there is no SGLang."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OVERLAY = Path(__file__).resolve().parents[2] / "python"
FILE = OVERLAY / "sglang/srt/layers/attention/aiter_backend.py"

PROGRAM = """
import importlib.util, sys
class OnlyTorch:
    def find_spec(self, name, path=None, target=None):
        installed = name.split(".")[0] not in sys.stdlib_module_names
        if installed and sys._getframe(1).f_globals.get("__name__") == "overlay":
            raise ImportError(name)
sys.meta_path.insert(0, OnlyTorch())
spec = importlib.util.spec_from_file_location("overlay", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
import torch
print(module._asm_context_prefill_gather_indices(
    torch.tensor([0, 2]), torch.tensor([3, 1]), torch.tensor([2]), 4)[0].tolist())
"""


def test_imports_and_gathers_with_torch_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(FILE)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[3, 1]"
