"""A foreign agent's command as a child: its own process group, a bound, and nothing left behind.

Which addresses its model clients should use, it reads from its environment. It isolates nothing:
what the program does, it does to this machine.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hfr_bench.errors import BadInputError

_PATIENCE_S = 5.0
_REAPED_S = 2.0
_LOOPBACK = "127.0.0.1,localhost"


def addresses(base_url: str) -> dict[str, str]:
    """What the usual clients read, for a trial's base URL (which ends in /v1).

    OpenAI's put `chat/completions` behind theirs; Anthropic's and Google's begin at the root.
    """
    root = base_url.removesuffix("/v1")
    return {
        "OPENAI_BASE_URL": base_url,
        "ANTHROPIC_BASE_URL": root,
        "GOOGLE_GEMINI_BASE_URL": root,
    }


def environment(base_url: str, keys: Sequence[str] = ()) -> dict[str, str]:
    """Our environment with these addresses, under every name that is in use, and no proxy between.

    `keys`: variables that clients will not start without; those that are not set say nothing.
    """
    told = addresses(base_url)
    told |= {
        "OPENAI_API_BASE": told["OPENAI_BASE_URL"],
        "ANTHROPIC_API_BASE": told["ANTHROPIC_BASE_URL"],
        "GEMINI_API_BASE": told["GOOGLE_GEMINI_BASE_URL"],
    }
    for name in ("NO_PROXY", "no_proxy"):
        told[name] = ",".join(filter(None, (os.environ.get(name), _LOOPBACK)))
    return {**dict.fromkeys(keys, "none"), **os.environ, **told}


class Program:
    """A running command. `ended` is called from a thread once it has ended by itself or not.

    `exit_code`: as the shell tells it (128 + signal); None while it runs. Raises BadInputError if
    it cannot be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        ended: Callable[[], None],
        cwd: Path | None = None,
    ) -> None:
        try:
            self._child = subprocess.Popen(list(argv), env=env, cwd=cwd, start_new_session=True)
        except OSError as error:
            raise BadInputError(f"cannot start {argv[0]!r}: {error.strerror or error}") from error
        self.exit_code: int | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(ended,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ask its group to end, then make it. Idempotent; returns once its group is empty."""
        if not self._over.is_set():
            self._signal(signal.SIGTERM)
            self._over.wait(_PATIENCE_S)
            self._signal(signal.SIGKILL)
        self._thread.join()

    def _watch(self, ended: Callable[[], None]) -> None:
        pid = self._child.pid
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        # Until it is reaped, its number (and so its group's) is nobody else's.
        self._signal(signal.SIGKILL)
        code = self._child.wait()
        _until_gone(pid)
        self.exit_code = code if code >= 0 else 128 - code
        self._over.set()
        ended()

    def _signal(self, number: int) -> None:
        if self._child.returncode is None:  # not reaped: the number is still its own
            with suppress(ProcessLookupError, PermissionError):  # only the dead are left
                os.killpg(self._child.pid, number)


def _until_gone(group: int) -> None:
    """Until nobody of a killed group is left; what an init never reaps is not waited for."""
    deadline = time.monotonic() + _REAPED_S
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)  # only asks
            time.sleep(0.005)
