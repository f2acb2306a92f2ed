"""What an arm's server is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_size_eval.arms import Arm
from page_size_eval.defect import VARIABLE
from page_size_eval.serving.hardware import Hardware
from page_size_eval.serving.in_force import ATTENTION_BACKEND, KV_CACHE_DTYPE
from page_size_eval.serving.server import ServerSpec, pick_port
from page_size_eval.settings import Settings


def defect_of(arm: Arm, settings: Settings) -> str | None:
    """The defect that an arm's server plants: page 1 stays sound, to compare with."""
    return None if arm.page_size == 1 else settings.defect


def environment_of(arm: Arm, settings: Settings, hardware: Hardware) -> dict[str, str]:
    """The variables that an arm's server gets on top of this process's own."""
    return {
        **hardware.environment,
        **arm.environment(),
        # Empty for none, so that one left in the shell is not planted unsaid.
        VARIABLE: defect_of(arm, settings) or "",
        "SGLANG_PLUGINS": "",
    }


def spec_for(
    arm: Arm, settings: Settings, hardware: Hardware, port: int, log: Path
) -> ServerSpec:
    """How an arm's server is started."""
    return ServerSpec(
        model=settings.model,
        page_size=arm.page_size,
        chunk=settings.chunk,
        port=port,
        log=log,
        arguments=(*hardware.arguments, *settings.server_arguments),
        environment=environment_of(arm, settings, hardware),
    )


def expected_in_force(arm: Arm, settings: Settings) -> Mapping[str, Any]:
    """What a server must say of itself; of one that already runs, less is known."""
    expected: dict[str, Any] = {
        "page_size": arm.page_size,
        "kv_cache_dtype": KV_CACHE_DTYPE,
        "attention_backend": ATTENTION_BACKEND,
    }
    return expected if arm.url else expected | {"chunked_prefill_size": settings.chunk}


@dataclass(frozen=True)
class SpecMaker:
    """Makes an arm's spec at each start: a log of its own, a port that is free then."""

    arm: Arm
    settings: Settings
    hardware: Hardware
    folder: Path

    def __call__(self) -> ServerSpec:
        port = pick_port(self.settings.port)
        return spec_for(self.arm, self.settings, self.hardware, port, self._log())

    def _log(self) -> Path:
        """A log that is not there yet: that of a server that died stays."""
        number, log = 1, self.folder / f"server_{self.arm.slug}.log"
        while log.exists():
            number += 1
            log = self.folder / f"server_{self.arm.slug}.{number}.log"
        return log
