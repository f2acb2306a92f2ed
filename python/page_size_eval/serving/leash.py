"""Run a command that the kernel kills when the process that asked for it is gone.

python leash.py PARENT COMMAND...: a script that is killed with SIGKILL cannot stop its
server any more, and one that holds a GPU would be found hours later. The kernel watches
the thread that started the command, so that has to be the main one.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(parent: int, command: list[str]) -> None:
    # Survives the exec below; SGLang's workers put themselves on such a leash.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL):
        sys.exit(f"prctl(PR_SET_PDEATHSIG): {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the process that asked for this server is already gone")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
