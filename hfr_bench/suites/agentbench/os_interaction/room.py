"""A shell host with a task's world in it."""

from hfr_bench.errors import InfrastructureError
from hfr_bench.ports.sandbox import ToolHost
from hfr_bench.shell.client import Executed, Recalled, Shell
from hfr_bench.suites.agentbench.os_interaction.rows import OsRow, Script

_CACHES = ("__pycache__",)
_SYSTEM = (
    *("proc", "sys", "dev", "run", "usr", "var", "lib", "lib64", "bin", "sbin", "boot", "sandbox"),
    *("mtab", *_CACHES),
)
"""What is not watched of a whole system: what tasks do not work in, and is large or never still."""
SEED = "RANDOM=1\n"
"""Before every script that makes a world: some of upstream's roll dice, and trials must agree."""
_ANSWER_KIB, _SETUP_S = 256, 300.0


class OsRoom:
    """One host. `whole`: the task's world is the whole system, else the home folder alone."""

    def __init__(self, host: ToolHost, *, whole: bool) -> None:
        self.host = host
        self._shell = Shell(host)
        self._whole = whole
        self._asked = 0
        self.scratch = str(self._shell.hello()["scratch"][0])
        self._cwd = "/root" if whole else "home"
        self._env = {"HOME": "/root" if whole else f"{self.scratch}/home"}

    def make(self, row: OsRow) -> None:
        """The task's world. Raises InfrastructureError if a script of its own fails."""
        if not self._whole:
            self._shell.reset()
            self.ours(Script("bash", "mkdir home"), cwd="")
        for script in row.init:
            text = SEED + script.text if script.language == "bash" else script.text
            done = self.ours(Script(script.language, text))
            if done.exit_code:
                said = (done.stdout + done.stderr).strip()[-300:]
                raise InfrastructureError(f"{row.where}: its world cannot be made: {said}")

    def run(self, script: str, timeout_s: float, marked: str = "") -> Executed:
        """A script of the agent's, both streams in one; noted by its text."""
        first = f"exec 2>&1; trap : EXIT # {marked}" if marked else "exec 2>&1"
        return self._shell.exec(
            script,
            f"{first}\n{script}",
            timeout_s=timeout_s,
            cwd=self._cwd,
            env=self._env,
            max_output_kib=_ANSWER_KIB,
        )

    def recall(self, script: str) -> Recalled:
        """What is noted of a script of the agent's."""
        return self._shell.recall(script)

    def ours(self, script: Script, *words: str, cwd: str | None = None) -> Executed:
        """A script of the task's own, under no name that a script of the agent's could have."""
        self._asked += 1
        return self._shell.exec(
            f"\0{self._asked}",
            script.argv(*words),
            timeout_s=_SETUP_S,
            cwd=self._cwd if cwd is None else cwd,
            env=self._env,
            max_output_kib=_ANSWER_KIB,
        )

    def state(self) -> dict[str, str]:
        """Each file that is watched -> mode and digest."""
        if not self._whole:
            return self._shell.tree("home", leave_out=_CACHES)
        system = self._shell.tree("/", leave_out=_SYSTEM)
        return system | self._shell.tree("/usr/local", leave_out=_CACHES)

    def close(self) -> None:
        self._shell.close()
