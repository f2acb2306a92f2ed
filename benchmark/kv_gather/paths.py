"""The ways from a batch's metadata to gathered K and V: two releases' and ours.

A release's code is read at run time out of its own aiter_backend.py and run with
stand-ins for the objects around it. None of it is kept in this repository.
"""

from __future__ import annotations
import __future__

import ast
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from benchmark.kv_gather.batches import Batch
from benchmark.kv_gather.modules import ATTENTION, BACKEND_FILE, load_file

Gather = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Any]
# (metadata of the batch, the batch, slots of the pool) -> (tok_idx, cu_k)
Indices = Callable[[SimpleNamespace, Batch, int], Any]


@dataclass(frozen=True)
class KvPath:
    """One implementation; `indices` is called by every layer, as in SGLang."""

    name: str
    indices: Indices
    gather: Gather


def our_path(gather_module: ModuleType) -> KvPath:
    """The overlay's indices and `gather_kv`."""
    backend = load_file(BACKEND_FILE).AiterAttnBackend()
    return KvPath("ours", _per_batch_indices(backend), gather_module.gather_kv)


def release_path(releases: Path, version: str) -> KvPath:
    """The indices and the gather of SGLang `version`, out of its own file."""
    file = releases / version / ATTENTION / "aiter_backend.py"
    tree = ast.parse(file.read_text())
    scope: dict[str, Any] = {
        "torch": torch,
        "logger": logging.getLogger(version),
        "_GFX_ASM_CTX_GATHER_CHECK": False,
    }
    helper = _run(_function(tree, "_asm_context_prefill_gather_indices"), scope)
    method = _function(tree, "_asm_context_prefill_indices")
    gather = _gather_of(tree, scope)
    if method is None:  # 0.5.20 and older call the helper in every layer.
        return KvPath(version, _per_layer_indices(helper), gather)
    backend = type("Backend", (), {method.name: _run(method, scope)})()
    return KvPath(version, _per_batch_indices(backend), gather)


def _per_layer_indices(helper: Callable[..., Any]) -> Indices:
    def indices(metadata: SimpleNamespace, batch: Batch, slots: int) -> Any:
        bs = batch.batch_size
        return helper(
            metadata.kv_indptr[: bs + 1],
            metadata.kv_indices,
            batch.forward_batch.seq_lens[:bs],
            slots,
            batch.forward_batch.forward_mode,
        )

    return indices


def _per_batch_indices(backend: Any) -> Indices:
    def indices(metadata: SimpleNamespace, batch: Batch, slots: int) -> Any:
        backend.forward_metadata = metadata
        return backend._asm_context_prefill_indices(
            batch.forward_batch, batch.batch_size, slots
        )

    return indices


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    return None


def _run(function: ast.FunctionDef | None, scope: dict[str, Any]) -> Any:
    """Define `function` in `scope`; its annotations are not evaluated."""
    if function is None:
        raise LookupError("expected the index helper in the release's aiter_backend.py")
    module = ast.Module([function], [])
    flags = __future__.annotations.compiler_flag
    exec(compile(module, "<release>", "exec", flags=flags), scope)
    return scope[function.name]


def _gather_of(tree: ast.Module, scope: dict[str, Any]) -> Gather:
    """The two gathers of the head_dim 256 branch, the one that names `hk` and `hv`."""
    steps: dict[str, ast.stmt] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(
            node.targets[0], ast.Name
        ):
            continue
        name = node.targets[0].id
        names = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
        if name in ("hk", "hv") or (
            name in ("k_gather", "v_gather") and names & {"hk", "hv"}
        ):
            steps[name] = node
    wanted = ("hk", "hv", "k_gather", "v_gather")
    if missing := [name for name in wanted if name not in steps]:
        raise LookupError(f"expected {wanted} in the release's branch, lacks {missing}")
    body = "\n".join(ast.unparse(steps[name]) for name in wanted)
    source = "def gather(k_cache, v_cache, tok_idx, layer):\n"
    source += "\n".join(f"    {line}" for line in body.splitlines())
    tree = ast.parse(source + "\n    return k_gather, v_gather")
    gather = _run(_function(tree, "gather"), scope)

    def of_layer(k: torch.Tensor, v: torch.Tensor, tok_idx: torch.Tensor) -> Any:
        layer = SimpleNamespace(
            tp_k_head_num=k.shape[1],
            qk_head_dim=k.shape[2],
            tp_v_head_num=v.shape[1],
            v_head_dim=v.shape[2],
        )
        return gather(k, v, tok_idx, layer)

    return of_layer
