"""A room with the repository of one of our tasks, made anew in memory for every trial."""

from dataclasses import replace

from hfr_bench.errors import InfrastructureError
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.suites.swe_bench.mini import image
from hfr_bench.suites.swe_bench.mini.catalog import MiniTask
from hfr_bench.suites.swe_bench.room import Room

REPO = "testbed"  # below the folder where commands start
BASE_PATCH = "base.patch"

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


class MiniRoom(Room):
    """One host, used for one task after the other. `base`: the commit that work starts from.

    `persists`: the repository outlives a restart of its container. `network`: as of its
    `HostCommand`.
    """

    def __init__(
        self, sandbox: Sandbox, *, persists: bool = False, network: str | None = None
    ) -> None:
        command = image.command(sandbox.contained, persists=persists)
        host = sandbox.start(replace(command, network=network, alias=REPO))
        super().__init__(host, REPO, {})
        self._env["GIT_CEILING_DIRECTORIES"] = self.scratch
        self.base = ""

    def make(self, task: MiniTask) -> None:
        """The repository at its base commit and nothing else; whatever was here is gone.

        Raises InfrastructureError if it does not come out as the task says.
        """
        self._shell.reset()
        self._shell.write(BASE_PATCH, task.tree.encode())
        done = self._ours(_MAKE, cwd="")
        self.base = task.instance.problem.base_commit
        if done.exit_code or done.stdout.strip() != self.base:
            said = (done.stdout + done.stderr).strip()[-300:]
            raise InfrastructureError(
                f"{task.instance.id} does not start at {self.base[:12]}: {said}"
            )
