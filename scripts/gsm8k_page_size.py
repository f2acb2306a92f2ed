"""gsm8k at page size 1 and another one, on MI355X or on any CPU.

Example: python scripts/gsm8k_page_size.py --page 16 --limit 64
"""

from page_size_eval.cli import app

if __name__ == "__main__":
    app()
