"""What the command line's words mean."""

from __future__ import annotations

import shlex
from pathlib import Path

from page_size_eval.arms import DEFAULT_PAGE_SIZES
from page_size_eval.errors import CannotMeasure


def parse_page_sizes(text: str | None) -> tuple[int, ...]:
    """`16`, `16 64` or `16,64`; the default sizes for none."""
    if not text:
        return DEFAULT_PAGE_SIZES
    try:
        return tuple(int(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise CannotMeasure(
            f"page size {text!r}: expected numbers. Next: make gsm8k PAGE=16"
        ) from None


def parse_urls(text: str | None) -> tuple[str, ...]:
    """`http://a:1 http://b:2`, by blanks or commas."""
    urls = tuple((text or "").replace(",", " ").split())
    for url in urls:
        if not url.removeprefix("view=").startswith(("http://", "https://")):
            raise CannotMeasure(
                f"server {url!r}: expected http://host:port. Next: make gsm8k"
                " BASE_URLS='http://host:30000 http://host:30001'"
            )
    return urls


def parse_server_arguments(tp: int, text: str | None) -> tuple[str, ...]:
    """Arguments of the servers; quoting as in a shell, which none of them goes through.

    Raises:
        CannotMeasure: unbalanced quotes, or an argument that the arms set themselves.
    """
    try:
        words = shlex.split(text or "")
    except ValueError as error:
        raise CannotMeasure(
            f"ARGS {text!r}: expected arguments of sglang.launch_server, got {error}."
            " Next: close the quotation"
        ) from error
    taken = {"--page-size": "PAGE=", "--chunked-prefill-size": "CHUNK=", "--tp": "TP="}
    taken |= {"--model-path": "MODEL=", "--model": "MODEL=", "--tp-size": "TP="}
    taken |= {"--tensor-parallel-size": "TP=", "--port": "PORT="}
    for word in words:
        name = word.partition("=")[0]
        if name in taken:
            raise CannotMeasure(
                f"ARGS: expected what the script does not set itself, got {name}."
                f" Next: give {taken[name]}"
            )
    return (*((f"--tp-size={tp}",) if tp > 1 else ()), *words)


def parse_tree(path: Path | None) -> Path | None:
    """The folder to put on the path for another `sglang`: a checkout, its python/, a
    site-packages or the package itself.

    Raises:
        CannotMeasure: there is no such package.
    """
    if path is None:
        return None
    found = path.resolve()
    for parent in (found / "python", found, found.parent):
        package = parent / "sglang" / "srt" / "layers" / "attention"
        if (package / "aiter_backend.py").is_file():
            return parent
    raise CannotMeasure(
        f"BASELINE {path}: expected a checkout of SGLang or a folder with its package,"
        " found no sglang/srt/layers/attention/aiter_backend.py. Next: give the folder"
        " that holds sglang/"
    )
