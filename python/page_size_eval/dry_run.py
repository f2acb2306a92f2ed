"""The commands of a run, for whoever wants to see or to copy them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from page_size_eval.arms import Arm
from page_size_eval.asking.command import lm_eval_command
from page_size_eval.command_line import say
from page_size_eval.launch import spec_for
from page_size_eval.measure import request_settings
from page_size_eval.serving.hardware import Hardware
from page_size_eval.serving.server import HOST
from page_size_eval.settings import Settings

PORT = 30000


def print_commands(
    console: Console, arms: Sequence[Arm], settings: Settings, hardware: Hardware
) -> None:
    """Every server that a run would start, and the lm-eval run that asks the same.

    The run itself sends those requests on its own, to keep each answer as it comes.
    """
    port = settings.port or PORT
    for arm in arms:
        say(console, f"# {arm.label}")
        url, name = arm.url or f"http://{HOST}:{port}", "default"
        if arm.url is None:
            spec = spec_for(arm, settings, hardware, port, Path())
            name = spec.name
            words = [f"{n}={v}" for n, v in spec.environment.items()]
            say(console, shlex.join([*words, *spec.command()]))
        requests = request_settings(settings, url, name)
        command = lm_eval_command(settings.task, settings.limit, requests)
        say(console, shlex.join(command) + "\n")
