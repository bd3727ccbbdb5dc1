"""A shell host with a task's repository in it: for an agent, or fresh for a grader."""

import posixpath
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.record import digest
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.shell.client import Executed, Recalled, Shell
from hfr_bench.suites.swe_bench.mini import image
from hfr_bench.suites.swe_bench.mini.catalog import MiniTask
from hfr_bench.suites.swe_bench.patches import FileRole, role

REPO = "testbed"  # below the folder where commands start
BASE_PATCH, MODEL_PATCH, EVAL = "base.patch", "model.patch", "eval.sh"
_STATE = (REPO, f"{REPO}/.git/HEAD", f"{REPO}/.git/refs", f"{REPO}/.git/packed-refs")
_CACHES = (".git", "__pycache__", ".pytest_cache")
_SETUP_S = 60.0
_ANSWER_KIB, _LOG_KIB = 256, 4096
_TESTS = (FileRole.TESTS, FileRole.STEERS)

_MAKE = f"""\
set -e
git init --quiet --initial-branch=main {REPO}
cd {REPO}
git config core.autocrlf false
git config core.fileMode true
git apply --index ../{BASE_PATCH}
git commit --quiet --no-verify -m 'the state before'
git rev-parse HEAD
rm ../{BASE_PATCH}
"""
_DIFF = """\
export GIT_INDEX_FILE="$PWD/../index"
rm -f "$GIT_INDEX_FILE"
git add --all . >/dev/null && git diff --cached --binary --no-color --no-ext-diff {base}
"""


class Room:
    """One host. `where`: the repository's folder there."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._shell = Shell(sandbox.start(image.command(sandbox.contained)))
        self._scratch = str(self._shell.hello()["scratch"][0])
        self.where = posixpath.join(self._scratch, REPO)
        self._env = {
            "TESTBED": self.where,
            "HOME": self._scratch,
            "GIT_CEILING_DIRECTORIES": self._scratch,
        }
        self._asked = 0

    def make(self, task: MiniTask) -> None:
        """The repository at its base commit and nothing else; whatever was here is gone.

        Raises InfrastructureError if it does not come out as the task says.
        """
        self._shell.reset()
        self._shell.write(BASE_PATCH, task.tree.encode())
        done = self._ours(_MAKE, cwd="")
        base = task.instance.problem.base_commit
        if done.exit_code or done.stdout.strip() != base:
            said = (done.stdout + done.stderr).strip()[-300:]
            raise InfrastructureError(f"{task.instance.id} does not start at {base[:12]}: {said}")

    def run(self, command: str, timeout_s: float) -> Executed:
        """A command of the agent's, both streams in one; noted by its text."""
        return self._shell.exec(
            command,
            f"exec 2>&1\n{command}",
            timeout_s=timeout_s,
            cwd=REPO,
            env=self._env,
            max_output_kib=_ANSWER_KIB,
        )

    def recall(self, command: str) -> Recalled:
        """What is noted of a command of the agent's."""
        return self._shell.recall(command)

    def state(self) -> dict[str, str]:
        """Files of the working tree, HEAD and refs -> mode and digest; caches left out."""
        return self._shell.tree(*_STATE, leave_out=_CACHES)

    def model_patch(self, base: str) -> str | None:
        """All changes against the base commit, new files included; None if git cannot tell."""
        done = self._ours(_DIFF.format(base=base))
        return None if done.exit_code or done.cut_bytes else done.stdout

    def try_command(self, command: str) -> tuple[int, str]:
        """A command of the grader's, in the repository: `apply.Run`."""
        done = self._ours(f"exec 2>&1\n{command}")
        return (-1 if done.exit_code is None else done.exit_code, done.stdout)

    def write(self, name: str, text: str) -> str:
        """A file beside the repository; its path from there, quoted for a shell."""
        self._shell.write(name, text.encode())
        return shlex.quote(f"../{name}")

    def evaluate(self, path: str, timeout_s: float) -> Executed:
        """Run an eval script; its log is `stdout`."""
        return self._ours(f"exec 2>&1\nbash {path}", timeout_s=timeout_s)

    def close(self) -> None:
        self._shell.close()

    def _ours(self, script: str, *, cwd: str = REPO, timeout_s: float = _SETUP_S) -> Executed:
        self._asked += 1
        return self._shell.exec(
            f"\0{self._asked}",  # no command holds that
            script,
            timeout_s=timeout_s,
            cwd=cwd,
            env=self._env,
            max_output_kib=_LOG_KIB,
            kill_left=True,
        )


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """The paths, from the repository's root, that were made, changed or removed."""
    names = sorted(before.keys() | after.keys())
    return tuple(_path(name) for name in names if before.get(name) != after.get(name))


def graded_state(files: Mapping[str, str]) -> str:
    """Digest of all files that are no tests: what is held against a fault-free twin."""
    rows: Sequence[Any] = [
        [path, row]
        for name, row in sorted(files.items())
        if not (path := _path(name)).startswith(".git/") and role(path) not in _TESTS
    ]
    return digest(rows)


def _path(name: str) -> str:
    return name.removeprefix(f"{REPO}/")
