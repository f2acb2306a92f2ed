"""SGLang out-of-tree platform `gfx950_reference`: the AMD backend on a CPU.

Selected by name (`SGLANG_PLATFORM=gfx950_reference`) and by nothing else: installed
beside other platforms it stays off.
"""

from __future__ import annotations

import logging
import os

from sglang.srt.platforms import interface
from sglang.srt.platforms.cpu import CpuDeviceMixin
from sglang.srt.platforms.device_mixin import PlatformEnum

PLATFORM_NAME = "gfx950_reference"

logger = logging.getLogger(__name__)


def activate() -> str | None:
    """Entry point of the group `sglang.srt.platforms`.

    Returns the class path, or None unless SGLANG_PLATFORM names this platform.

    Raises:
        RuntimeError: Triton's interpreter is off, so that the index producers could
            not run on a CPU.
    """
    if os.environ.get("SGLANG_PLATFORM") != PLATFORM_NAME:
        return None
    # SGLang imports Triton before it asks for its platform: too late to turn it on.
    if os.environ.get("TRITON_INTERPRET") != "1":
        raise RuntimeError(
            f"platform {PLATFORM_NAME}: expected TRITON_INTERPRET=1 in the environment,"
            f" got {os.environ.get('TRITON_INTERPRET')!r}. Next: set it before the"
            " process starts"
        )
    return f"{__name__}.Gfx950ReferencePlatform"


class Gfx950ReferencePlatform(CpuDeviceMixin, interface.SRTPlatform):
    """A CPU that SGLang serves as it would serve a gfx950 with aiter."""

    _enum = PlatformEnum.OOT
    device_name = PLATFORM_NAME
    device_type = "cpu"
    # Without Triton, SGLang takes the torch forms of its page allocator and of the
    # req_to_token writers; the attention backend's own index kernels stay Triton.
    # Releases that do not ask (before 0.5.22) run those under the interpreter too.
    if hasattr(interface, "PlatformCapabilities"):
        capabilities = interface.PlatformCapabilities(supports_triton=False)

    def get_default_attention_backend(self) -> str:
        return "aiter"

    def is_pin_memory_available(self, device: object = None) -> bool:
        return False

    def init_backend(self) -> None:
        """Install the reference aiter and patch what has no CPU form, per worker."""
        from aiter_reference.modules import install
        from aiter_reference.patches import apply_patches

        install()
        apply_patches()
        logger.info(
            "%s: reference aiter in plain torch, patched aiter_backend; no GPU kernel"
            " runs in this process",
            PLATFORM_NAME,
        )
