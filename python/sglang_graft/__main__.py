"""`python -m sglang_graft`."""

from sglang_graft.cli import app

app(prog_name="sglang-graft")
