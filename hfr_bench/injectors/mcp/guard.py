"""A program of its own: when its stdin ends without a word, it ends a process group.

Started beside every server that the proxy starts, so that no way in which the proxy can die leaves
a server behind. `python guard.py GROUP`; told `done` before its stdin ends, it does nothing.
"""

import contextlib
import os
import signal
import sys
import time

_PATIENCE_S = 1.0


def main() -> None:
    """Wait for the end of stdin, then end the group: asked first, then killed."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # it outlives what it guards against
    group = int(sys.argv[1])
    if sys.stdin.buffer.read().strip() == b"done":
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.02)
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
