"""Places in SGLang's file that the graft relies on, each with its expected count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
import libcst.matchers as m

from sglang_graft.names import local_names
from sglang_graft.outcome import Refusal
from sglang_graft.overlay import BACKEND_CLASS
from sglang_graft.selection import CONTEXT_BRANCH, CONTEXT_METHOD
from sglang_graft.statements import positions

EXTEND_METHOD = "forward_extend"

# What the grafted branch reads; all are SGLang's local names.
_BRANCH_LOCALS = ("self", "q", "layer", "forward_batch", "k_descale", "v_descale")
_BRANCH_CODE = f"""\
if True:
    o = self.{CONTEXT_METHOD}(
        {", ".join(_BRANCH_LOCALS[1:])}
    )
    if o is not None:
        return o
"""
_FIRST_RELEASE = (0, 5, 19)
# setuptools_scm says 0.0.0 where it cannot tell.
_ANY_RELEASE = (0, 1)

_HAS_PREFIX = m.Call(
    func=m.Name("any"),
    args=[
        m.Arg(m.Attribute(m.Name("forward_batch"), m.Name("extend_prefix_lens_cpu")))
    ],
)
_HEAD_DIM_256 = m.Comparison(
    left=m.Attribute(m.Name("layer"), m.Name("qk_head_dim")),
    comparisons=[m.ComparisonTarget(m.Equal(), m.Integer("256"))],
)
_ASM_CALL = m.Call(func=m.Name("flash_attn_varlen_fp8_pertensor_func"))


@dataclass(frozen=True)
class Site:
    """The file that is looked at, for messages."""

    path: Path
    release: str

    def refuse(self, anchor: str, reason: str, next_step: str) -> Refusal:
        """A refusal that names this file and its release."""
        return Refusal(
            anchor, f"{reason}, in {self.path} (sglang {self.release})", next_step
        )


def expect_count(anchor: str, found: int, site: Site, expected: int = 1) -> None:
    """Refuse unless `anchor` was found as often as expected.

    Raises:
        Refusal: naming the anchor, both counts, the file and the release.
    """
    if found != expected:
        raise site.refuse(
            anchor,
            f"expected {expected}, found {found}",
            "this file is not one that the graft was made for (sglang 0.5.19 to"
            " 0.5.23): compare the anchor with the file and adapt the graft",
        )


def find_backend(body: Sequence[cst.CSTNode], site: Site) -> int:
    """Index of `class AiterAttnBackend` in a module's body.

    Raises:
        Refusal: there is none, or more than one.
    """
    found = [
        i for i in positions(body, BACKEND_CLASS) if m.matches(body[i], m.ClassDef())
    ]
    expect_count(f"class {BACKEND_CLASS}", len(found), site)
    return found[0]


def find_extend(body: Sequence[cst.CSTNode], site: Site) -> int:
    """Index of `forward_extend` in the class's body.

    Raises:
        Refusal: there is none, or more than one.
    """
    found = [
        i for i in positions(body, EXTEND_METHOD) if m.matches(body[i], m.FunctionDef())
    ]
    expect_count(f"{BACKEND_CLASS}.{EXTEND_METHOD}", len(found), site)
    return found[0]


def graft_context_branch(
    method: cst.FunctionDef, config: cst.PartialParserConfig, site: Site
) -> cst.FunctionDef:
    """Let the context-chunk branch of `forward_extend` call our method.

    The branch is the `if` whose test has the terms
    `any(forward_batch.extend_prefix_lens_cpu)` and `layer.qk_head_dim == 256`, and
    whose body calls the ASM kernel, or our method already. Its test stays.

    Raises:
        Refusal: no such branch, more than one, one with an else (which a batch that
            our method declines would skip), or one whose names are not local.
    """
    template = cst.parse_statement(_BRANCH_CODE, config=config)
    assert isinstance(template, cst.If)
    branch = _find_context_branch(method, template.body, site)
    missing = set(_BRANCH_LOCALS) - local_names(
        cst.Module([]).code_for_node(method), EXTEND_METHOD
    )
    if missing:
        raise site.refuse(
            CONTEXT_BRANCH,
            f"{EXTEND_METHOD} does not bind {', '.join(sorted(missing))}",
            f"adapt the call of {CONTEXT_METHOD} to the names of this release",
        )
    grafted = method.deep_replace(branch, branch.with_changes(body=template.body))
    assert isinstance(grafted, cst.FunctionDef)
    return grafted


def _find_context_branch(
    method: cst.FunctionDef, grafted: cst.BaseSuite, site: Site
) -> cst.If:
    ifs = [node for node in m.findall(method, m.If()) if isinstance(node, cst.If)]
    found = [node for node in ifs if _is_context_branch(node, grafted)]
    if not found:
        raise _no_branch(site)
    expect_count(CONTEXT_BRANCH, len(found), site)
    branch = found[0]
    if branch.orelse is not None or any(node.orelse is branch for node in ifs):
        raise site.refuse(
            CONTEXT_BRANCH,
            "expected an `if` alone, found an elif or else beside it",
            "adapt the graft: a batch that our method declines must reach the paged"
            " kernel",
        )
    return branch


def _is_context_branch(node: cst.If, grafted: cst.BaseSuite) -> bool:
    terms = list(_conjuncts(node.test))
    return (
        any(m.matches(term, _HAS_PREFIX) for term in terms)
        and any(m.matches(term, _HEAD_DIM_256) for term in terms)
        and (bool(m.findall(node.body, _ASM_CALL)) or node.body.deep_equals(grafted))
    )


def _conjuncts(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if m.matches(test, m.BooleanOperation(operator=m.And())):
        assert isinstance(test, cst.BooleanOperation)
        yield from _conjuncts(test.left)
        yield from _conjuncts(test.right)
    else:
        yield test


def _no_branch(site: Site) -> Refusal:
    numbers = tuple(int(n) for n in re.findall(r"\d+", site.release)[:3])
    if _ANY_RELEASE <= numbers < _FIRST_RELEASE:
        return site.refuse(
            CONTEXT_BRANCH,
            "expected 1, found 0: this release has no context-chunk branch; ASM"
            " context prefill first ships in 0.5.19",
            "nothing to repair here; use sglang 0.5.19 to 0.5.23",
        )
    return site.refuse(
        CONTEXT_BRANCH,
        f"expected 1, found 0: no `if` in {EXTEND_METHOD} asks"
        " any(forward_batch.extend_prefix_lens_cpu) and layer.qk_head_dim == 256 and"
        " calls flash_attn_varlen_fp8_pertensor_func; ASM context prefill first ships"
        " in 0.5.19",
        "use sglang 0.5.19 to 0.5.23, or adapt the anchor to this release",
    )
