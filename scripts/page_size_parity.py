"""Logprobs of fixed prompts at several page sizes, on MI355X or on any CPU.

Example: python scripts/page_size_parity.py --page 16
"""

from page_size_eval.parity.cli import app

if __name__ == "__main__":
    app()
