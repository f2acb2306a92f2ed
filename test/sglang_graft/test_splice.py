"""What the splice makes of a file, as text before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sglang_graft import AlreadyApplied, Applied

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_EXTEND = """

class AiterAttnBackend:
    def forward_extend(self):
        pass
"""


@pytest.mark.parametrize("form", ["inline", "released"])
def test_backend_gets_definitions_and_branch(sandbox: Sandbox, form: str) -> None:
    sandbox.make_target(sandbox.text(form))
    outcome = sandbox.apply()
    assert isinstance(outcome, Applied), outcome
    assert sandbox.backend.read_text() == sandbox.text(f"{form}_grafted")


@pytest.mark.parametrize("form", ["inline", "released"])
def test_grafted_text_is_left_alone_without_manifest(
    sandbox: Sandbox, form: str
) -> None:
    sandbox.make_target(sandbox.text(f"{form}_grafted"))
    before = sandbox.snapshot()
    outcome = sandbox.apply()
    assert isinstance(outcome, AlreadyApplied), outcome
    assert sandbox.snapshot() == before
    assert sandbox.status().state == "grafted"


def test_line_ends_of_the_target_are_kept(sandbox: Sandbox) -> None:
    sandbox.make_target(sandbox.text("inline").replace("\n", "\r\n").encode())
    sandbox.apply()
    expected = sandbox.text("inline_grafted").replace("\n", "\r\n").encode()
    assert sandbox.backend.read_bytes() == expected


def test_new_definition_goes_before_the_replaced_one_that_needs_it(
    sandbox: Sandbox,
) -> None:
    sandbox.make_target(f"import os\n\n\nLIMIT = 1\n{_EXTEND}")
    sandbox.make_overlay("def _limit():\n    return 2\n\n\nLIMIT = _limit()\n")
    sandbox.apply("LIMIT")
    assert sandbox.backend.read_text() == (
        f"import os\n\n\ndef _limit():\n    return 2\n\n\nLIMIT = _limit()\n{_EXTEND}"
    )


def test_type_checking_imports_stay_behind(sandbox: Sandbox) -> None:
    sandbox.make_target(f"from aiter import kernel\n{_EXTEND}")
    sandbox.make_overlay(
        "from typing import TYPE_CHECKING\n\n"
        "if TYPE_CHECKING:\n    from other import kernel\n\n\n"
        "def call():\n    return kernel()\n"
    )
    sandbox.apply("call")
    assert sandbox.backend.read_text() == (
        "from aiter import kernel\n\n\ndef call():\n    return kernel()\n" + _EXTEND
    )


def test_imports_join_the_sections_of_the_target(sandbox: Sandbox) -> None:
    sandbox.make_target(
        f"import logging\nfrom typing import Optional\n\nimport torch\n{_EXTEND}"
    )
    sandbox.make_overlay(
        "import os\nfrom typing import Any\nfrom torch import nn as layers\n\n\n"
        "def call(x: Any):\n    return layers, os\n"
    )
    sandbox.apply("call")
    assert sandbox.backend.read_text() == (
        "import logging\nimport os\nfrom typing import Any, Optional\n\nimport torch\n"
        "from torch import nn as layers\n\n\n"
        f"def call(x: Any):\n    return layers, os\n{_EXTEND}"
    )


def test_imports_of_an_unsorted_head_are_not_moved(sandbox: Sandbox) -> None:
    head = "A = 1\n\n# Why torch.\nimport torch\n"
    sandbox.make_target(head + _EXTEND)
    sandbox.make_overlay("import os\n\nB = os.sep\n")
    sandbox.apply("B")
    text = sandbox.backend.read_text()
    assert head in text, text
    assert "import os\n" in text


def test_imports_without_a_user_stay_behind(sandbox: Sandbox) -> None:
    sandbox.make_target(f"import torch\n{_EXTEND}")
    sandbox.make_overlay("import os\n\nA = 1\nB = os.sep\n")
    sandbox.apply("A")
    assert "import os" not in sandbox.backend.read_text()


@pytest.mark.parametrize(
    ("target", "overlay", "anchor", "reason"),
    [
        ("", "def f():\n    return gone\n", "name gone", "f uses gone"),
        ("", "A = gone()\n", "name gone", "A uses gone"),
        ("", "def f(x=gone):\n    return x\n", "name gone", "f uses gone"),
        ("", "def f(x: gone):\n    return x\n", "name gone", "f uses gone"),
        (
            "if TYPE_CHECKING:\n    import late\n",
            "def f():\n    return late\n",
            "name late",
            "bound under TYPE_CHECKING only",
        ),
        ("A = 1\nlate = 2\n", "A = late\n", "name late", "bound only after it"),
        (
            "import a as os\n",
            "import os\n\nA = os.sep\n",
            "import of os",
            "expected os",
        ),
        ("A = 1\nA = 2\n", "A = 3\n", "definition A", "expected 1, found 2"),
        (
            "try:\n    A = 1\nexcept Exception:\n    pass\n",
            "A = 3\n",
            "other bindings of A",
            "expected 0, found 1",
        ),
    ],
)
def test_definition_that_cannot_work_is_refused(
    sandbox: Sandbox, target: str, overlay: str, anchor: str, reason: str
) -> None:
    sandbox.make_target(target + _EXTEND)
    sandbox.make_overlay(overlay)
    refused = sandbox.refused("f" if "def f" in overlay else "A")
    assert refused.anchor == anchor
    assert reason in refused.reason, refused.reason
    assert str(sandbox.backend) in refused.reason


def test_annotation_known_to_type_checkers_is_enough(sandbox: Sandbox) -> None:
    sandbox.make_target(
        "from __future__ import annotations\n\nif TYPE_CHECKING:\n    import late\n"
        + _EXTEND
    )
    sandbox.make_overlay("def f(x: late):\n    return x\n")
    assert isinstance(sandbox.apply("f"), Applied)


def test_file_that_does_not_parse_is_refused(sandbox: Sandbox) -> None:
    sandbox.make_target("def broken(:\n")
    refused = sandbox.refused()
    assert refused.anchor == "source"
    assert str(sandbox.backend) in refused.reason


@pytest.mark.parametrize(
    ("overlay", "reason"),
    [
        ("for x in range(3):\n    print(x)\n", "the statement `for x in range(3):`"),
        ("A = 1\nA = 2\n", "expected one definition of A, found 2"),
        ("def broken(:\n", "aiter_backend.py: Syntax Error"),
        ("class AiterAttnBackend:\n    limit = 1\n", "the statement `limit = 1`"),
    ],
)
def test_overlay_that_cannot_be_spliced_is_refused(
    sandbox: Sandbox, overlay: str, reason: str
) -> None:
    sandbox.make_overlay(overlay)
    refused = sandbox.refused()
    assert refused.anchor == "overlay"
    assert reason in refused.reason, refused.reason
