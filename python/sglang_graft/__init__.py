"""Splices this repository's definitions into an SGLang tree, and takes them out."""

from sglang_graft.operations import apply, revert
from sglang_graft.outcome import (
    AlreadyApplied,
    Applied,
    NotApplied,
    Outcome,
    Refused,
    Reverted,
)
from sglang_graft.patches import Patches, patch
from sglang_graft.report import Diff, Status, diff, status

__all__ = [
    "AlreadyApplied",
    "Applied",
    "Diff",
    "NotApplied",
    "Outcome",
    "Patches",
    "Refused",
    "Reverted",
    "Status",
    "apply",
    "diff",
    "patch",
    "revert",
    "status",
]
