"""A shell host with a task's repository in it: for an agent, or fresh for a grader.

How the repository comes there is a suite's own affair (`make`, in what is made of `Room`).
"""

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.record import digest
from hfr_bench.ports.sandbox import ToolHost
from hfr_bench.shell.client import Executed, Recalled, Shell
from hfr_bench.suites.swe_bench.patches import FileRole, role

FIXED: Mapping[str, str] = MappingProxyType(
    {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_AUTHOR_NAME": "HFR-Bench",
        "GIT_AUTHOR_EMAIL": "hfr-bench@example.com",
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",  # a commit's hash must not hold the time
        "GIT_COMMITTER_NAME": "HFR-Bench",
        "GIT_COMMITTER_EMAIL": "hfr-bench@example.com",
        "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PAGER": "cat",
        "COLUMNS": "80",
        "PYTHONHASHSEED": "0",
    }
)
"""What an agent's commands find in their environment, so that trials can be compared."""
MODEL_PATCH, EVAL = "model.patch", "eval.sh"
_GIT_STATE = (".git/HEAD", ".git/refs", ".git/packed-refs")
_CACHES = (".git", "__pycache__", ".pytest_cache")
HOLDS = "/run"  # root's alone, in a container
_HELD = "trap '[ ! -e \"{file}\" ] || kill -STOP $$' EXIT"
_SETUP_S = 300.0
_ANSWER_KIB, _LOG_KIB = 256, 4096
_TESTS = (FileRole.TESTS, FileRole.STEERS)

# An index of our own, so that nobody's is changed; read first, since a tracked file that is also
# ignored would not be added to an empty one.
_DIFF = """\
export GIT_INDEX_FILE={index}
rm -f "$GIT_INDEX_FILE"
git read-tree {base} && git add --all . >/dev/null &&
  git diff --cached --binary --no-color --no-ext-diff {base}
"""


class Room:
    """One host. `where`: the repository's folder there; `scratch`: the folder for what is ours.

    `repo`: the repository as the host is told it: below `scratch`, or an absolute path.
    """

    def __init__(self, host: ToolHost, repo: str, env: Mapping[str, str]) -> None:
        self.host = host
        self._shell = Shell(host)
        self.scratch = str(self._shell.hello()["scratch"][0])
        self.where = repo if repo.startswith("/") else f"{self.scratch}/{repo}"
        self._repo = repo
        self._env = {"TESTBED": self.where, "HOME": self.scratch, **env}
        self._asked = 0

    def run(self, command: str, timeout_s: float, marked: str = "") -> Executed:
        """A command of the agent's, both streams in one; noted by its text.

        `marked`: what its shell is known by from outside. A shell with a trap stays to the end;
        one without becomes its last command, and nobody would know it again. At the end it waits
        for a fault that is meant for it (`ports.exposure.Exposure.holds`).
        """
        first = f"exec 2>&1; {_HELD.format(file=f'{HOLDS}/{marked}')}" if marked else "exec 2>&1"
        return self._shell.exec(
            command,
            f"{first}\n{command}",
            timeout_s=timeout_s,
            cwd=self._repo,
            env=self._env,
            max_output_kib=_ANSWER_KIB,
        )

    def recall(self, command: str) -> Recalled:
        """What is noted of a command of the agent's."""
        return self._shell.recall(command)

    def state(self) -> dict[str, str]:
        """Files of the working tree, HEAD and refs -> mode and digest; caches left out.

        By their paths from the repository's root.
        """
        paths = (self._repo, *(f"{self._repo}/{name}" for name in _GIT_STATE))
        files = self._shell.tree(*paths, leave_out=_CACHES)
        return {name.removeprefix(f"{self._repo}/"): row for name, row in files.items()}

    def model_patch(self, base: str) -> str | None:
        """All changes against a commit or tree, new files included; None if git cannot tell.

        Raises InfrastructureError if it has not told in minutes.
        """
        index = shlex.quote(f"{self.scratch}/index")
        done = self._ours(_DIFF.format(index=index, base=base))
        if done.timed_out:
            raise InfrastructureError(f"git has not told the changes within {_SETUP_S:g} s")
        return None if done.exit_code or done.cut_bytes else done.stdout

    def try_command(self, command: str) -> tuple[int, str]:
        """A command of the grader's, in the repository: `apply.Run`."""
        done = self._ours(f"exec 2>&1\n{command}")
        return (-1 if done.exit_code is None else done.exit_code, done.stdout)

    def write(self, name: str, text: str) -> str:
        """A file beside the repository; its path, quoted for a shell."""
        self._shell.write(name, text.encode())
        return shlex.quote(f"{self.scratch}/{name}")

    def evaluate(self, path: str, timeout_s: float) -> Executed:
        """Run an eval script; its log is `stdout`."""
        return self._ours(f"exec 2>&1\nbash {path}", timeout_s=timeout_s)

    def close(self) -> None:
        self._shell.close()

    def _ours(
        self, script: str, *, cwd: str | None = None, timeout_s: float = _SETUP_S
    ) -> Executed:
        self._asked += 1
        return self._shell.exec(
            f"\0{self._asked}",  # no command holds that
            script,
            timeout_s=timeout_s,
            cwd=self._repo if cwd is None else cwd,
            env=self._env,
            max_output_kib=_LOG_KIB,
            kill_left=True,
        )


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """The paths that were made, changed or removed between two states."""
    names = sorted(before.keys() | after.keys())
    return tuple(name for name in names if before.get(name) != after.get(name))


def graded_state(files: Mapping[str, str]) -> str:
    """Digest of all files that are no tests: what is held against a fault-free twin."""
    rows: Sequence[Any] = [
        [path, row]
        for path, row in sorted(files.items())
        if not path.startswith(".git/") and role(path) not in _TESTS
    ]
    return digest(rows)
