"""These files are SGLang's: its runner executes each as a script."""

from __future__ import annotations

# Starts servers, as test/engine does; scripts/ci/amd_stage_b.sh runs it.
collect_ignore = ["amd"]
