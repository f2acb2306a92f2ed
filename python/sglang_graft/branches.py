"""Branches of `forward_extend` whose bodies the graft replaces by a call of ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from sglang_graft.anchors import EXTEND_METHOD, Site, expect_count
from sglang_graft.names import local_names
from sglang_graft.outcome import Refusal
from sglang_graft.selection import CONTEXT_BRANCH, NO_PREFIX_BRANCH, STATEMENT_EDITS

_FIRST_CONTEXT_RELEASE = (0, 5, 19)

ASM_CALL = m.Call(func=m.Name("flash_attn_varlen_fp8_pertensor_func"))
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


@dataclass(frozen=True)
class Branch:
    """An `if` with these terms among its and-ed ones, and an ASM kernel call in it.

    `arguments` are SGLang's local names, which our method gets; `code` becomes the
    body. What `declines` returns None for a batch that later branches must serve.
    """

    name: str
    terms: tuple[m.BaseMatcherNode, ...]
    wording: str
    arguments: tuple[str, ...]
    declines: bool

    @property
    def code(self) -> str:
        """An `if` whose body is the grafted one."""
        call = (
            f"self.{STATEMENT_EDITS[self.name]}(\n"
            f"        {', '.join(self.arguments)}\n"
            "    )\n"
        )
        if not self.declines:
            return f"if True:\n    return {call}"
        return f"if True:\n    o = {call}    if o is not None:\n        return o\n"


BRANCHES = (
    Branch(
        name=CONTEXT_BRANCH,
        terms=(_HAS_PREFIX, _HEAD_DIM_256),
        wording="any(forward_batch.extend_prefix_lens_cpu)",
        arguments=("q", "layer", "forward_batch", "k_descale", "v_descale"),
        declines=True,
    ),
    Branch(
        name=NO_PREFIX_BRANCH,
        terms=(m.UnaryOperation(m.Not(), _HAS_PREFIX), _HEAD_DIM_256),
        wording="not any(forward_batch.extend_prefix_lens_cpu)",
        arguments=("q", "k", "v", "layer", "forward_batch", "cache_loc")
        + ("k_descale", "v_descale"),
        declines=False,
    ),
)


def graft_branch(
    branch: Branch, method: cst.FunctionDef, config: cst.PartialParserConfig, site: Site
) -> cst.FunctionDef:
    """Let one branch of `forward_extend` call our method. Its test stays.

    Raises:
        Refusal: no such branch, more than one, one whose names are not local, or one
            with an else, which a batch that our method declines would skip.
    """
    template = cst.parse_statement(branch.code, config=config)
    assert isinstance(template, cst.If)
    found = _find(branch, method, template.body, site)
    missing = {"self", *branch.arguments} - local_names(
        cst.Module([]).code_for_node(method), EXTEND_METHOD
    )
    if missing:
        raise site.refuse(
            branch.name,
            f"{EXTEND_METHOD} does not bind {', '.join(sorted(missing))}",
            f"adapt the call of {STATEMENT_EDITS[branch.name]} to the names of this"
            " release",
        )
    grafted = method.deep_replace(found, found.with_changes(body=template.body))
    assert isinstance(grafted, cst.FunctionDef)
    return grafted


def find_ifs(method: cst.FunctionDef, *terms: m.BaseMatcherNode) -> list[cst.If]:
    """Every `if` of a method that has all of `terms` among its and-ed ones."""
    ifs = [node for node in m.findall(method, m.If()) if isinstance(node, cst.If)]
    return [node for node in ifs if _has_terms(node, terms)]


def _find(
    branch: Branch, method: cst.FunctionDef, grafted: cst.BaseSuite, site: Site
) -> cst.If:
    found = [
        node
        for node in find_ifs(method, *branch.terms)
        if m.findall(node.body, ASM_CALL) or node.body.deep_equals(grafted)
    ]
    if not found:
        raise _not_found(branch, site)
    expect_count(branch.name, len(found), site)
    is_elif = any(node.orelse is found[0] for node in find_ifs(method))
    if branch.declines and (is_elif or found[0].orelse is not None):
        raise site.refuse(
            branch.name,
            "expected an `if` alone, found an elif or else beside it",
            "adapt the graft: a batch that our method declines must reach the paged"
            " kernel",
        )
    return found[0]


def _has_terms(node: cst.If, terms: tuple[m.BaseMatcherNode, ...]) -> bool:
    conjuncts = list(_conjuncts(node.test))
    return all(any(m.matches(c, term) for c in conjuncts) for term in terms)


def _conjuncts(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if m.matches(test, m.BooleanOperation(operator=m.And())):
        assert isinstance(test, cst.BooleanOperation)
        yield from _conjuncts(test.left)
        yield from _conjuncts(test.right)
    else:
        yield test


def _not_found(branch: Branch, site: Site) -> Refusal:
    early = site.version is not None and site.version < _FIRST_CONTEXT_RELEASE
    if branch.name == CONTEXT_BRANCH and early:
        return site.refuse(
            branch.name,
            "expected 1, found 0: this release has no context-chunk branch; ASM"
            " context prefill first ships in 0.5.19",
            "nothing to repair here; use sglang 0.5.19 to 0.5.23",
        )
    return site.refuse(
        branch.name,
        f"expected 1, found 0: no `if` in {EXTEND_METHOD} asks {branch.wording} and"
        " layer.qk_head_dim == 256 and calls flash_attn_varlen_fp8_pertensor_func; ASM"
        " context prefill first ships in 0.5.19",
        "use sglang 0.5.19 to 0.5.23, adapt the anchor to this release, or leave this"
        " edit out with --only",
    )
