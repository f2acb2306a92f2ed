"""The K/V gather of the head_dim-128 branch of `forward_extend`."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from sglang_graft.anchors import Site, expect_count
from sglang_graft.branches import ASM_CALL, find_ifs
from sglang_graft.selection import HEAD_DIM_128_GATHER, STATEMENT_EDITS
from sglang_graft.statements import leading_lines, with_leading

_FIRST_RELEASE = (0, 5, 22)
_METHOD = STATEMENT_EDITS[HEAD_DIM_128_GATHER]
_CODE = f"k_gather, v_gather = self.{_METHOD}(\n    k_cache, v_cache, tok_idx\n)\n"

_HEAD_DIM_128 = m.Comparison(
    left=m.Attribute(m.Name("layer"), m.Name("qk_head_dim")),
    comparisons=[
        m.ComparisonTarget(
            m.Equal(), m.Attribute(m.Name("layer"), m.Name("v_head_dim"))
        ),
        m.ComparisonTarget(m.Equal(), m.Integer("128")),
    ],
)
_SELECT = m.Call(
    func=m.Attribute(attr=m.Name("index_select")),
    args=[m.Arg(m.Integer("0")), m.Arg(m.Name("tok_idx"))],
)
_OURS = m.Call(func=m.Attribute(m.Name("self"), m.Name(_METHOD)))


def graft_head_dim_128_gather(
    method: cst.FunctionDef, config: cst.PartialParserConfig, site: Site
) -> cst.FunctionDef:
    """Let the branch take K and V from our method, in one call; its comment stays.

    A release before 0.5.22 has no such branch, and nothing is done there.

    Raises:
        Refusal: a later release without it, more than one branch, or a branch that
            does not select rows of k_cache and then of v_cache by tok_idx, once.
    """
    branches = [
        node
        for node in find_ifs(method, _HEAD_DIM_128)
        if m.findall(node.body, ASM_CALL)
    ]
    # A file of unknown release is taken for an early one.
    if not branches and (site.version or (0,)) < _FIRST_RELEASE:
        return method
    expect_count(HEAD_DIM_128_GATHER, len(branches), site)
    if m.findall(branches[0], _OURS):
        return method
    pairs = [
        (block, at)
        for found in m.findall(branches[0], m.IndentedBlock())
        for block in [cst.ensure_type(found, cst.IndentedBlock)]
        for at in range(len(block.body) - 1)
        if _gathers(block.body[at], "k") and _gathers(block.body[at + 1], "v")
    ]
    expect_count(f"{HEAD_DIM_128_GATHER}, gathers of K and V", len(pairs), site)
    block, at = pairs[0]
    ours = cst.parse_statement(_CODE, config=config)
    ours = with_leading(ours, leading_lines(block.body[at]))
    body = [*block.body[:at], ours, *block.body[at + 2 :]]
    grafted = method.deep_replace(block, block.with_changes(body=body))
    return cst.ensure_type(grafted, cst.FunctionDef)


def _gathers(statement: cst.CSTNode, which: str) -> bool:
    """Whether it is `<which>_gather = ...` from rows of `<which>_cache`."""
    assign = m.Assign(targets=[m.AssignTarget(m.Name(f"{which}_gather"))])
    return (
        m.matches(statement, m.SimpleStatementLine(body=[assign]))
        and bool(m.findall(statement, _SELECT))
        and bool(m.findall(statement, m.Name(f"{which}_cache")))
    )
