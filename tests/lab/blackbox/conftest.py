"""A small shell task: a repository with a failing test, and a file to append a line to.

The task is played by the stand-in model over real HTTP (rehearsal); what became of it is read from
the repository, which is what a checker of such a task would read.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.lab.standalone import Setup, stand
from hfr_bench.model.gateway import GatewaySummary
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, Lasts
from hfr_bench.model.task import SealedTask
from hfr_bench.model.terms import Layer

HERE = Path(__file__).parent
TASK = content.read_record(HERE / "task.yaml", SealedTask)
NOTE = "- fruit: add adds"
FILES = {
    "fruit.py": "def add(a, b):\n    return a - b\n",
    "test_fruit.py": (
        "import unittest\n\nfrom fruit import add\n\n\n"
        "class Fruit(unittest.TestCase):\n    def test_add(self):\n"
        "        self.assertEqual(add(2, 3), 5)\n"
    ),
    "CHANGES.md": "# Changes\n",
    ".gitignore": "__pycache__/\n",
}


@dataclass(frozen=True)
class Repo:
    """The world of the task."""

    path: Path

    @property
    def notes(self) -> int:
        """How often the line was appended: the side effect that must happen once."""
        return (self.path / "CHANGES.md").read_text().splitlines().count(NOTE)

    @property
    def solved(self) -> bool:
        """The test passes, the note is there once, and both are committed."""
        test = subprocess.run(
            [sys.executable, "-B", "-m", "unittest", "-q"],
            cwd=self.path,
            capture_output=True,
            check=False,
        )
        return test.returncode == 0 and self.notes == 1 and not self.git("status", "--porcelain")

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.path, text=True, capture_output=True, check=True
        )
        return done.stdout


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    # Bytecode goes by size and second: a mended file of the same size might not be read anew.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "a")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.org")
    made = Repo(tmp_path / "repo")
    made.path.mkdir()
    for name, text in FILES.items():
        (made.path / name).write_text(text)
    made.git("init", "-q")
    made.git("add", "-A")
    made.git("commit", "-qm", "start")
    return made


def event(kind: str, occurrence: int, n: int = 1, **fields: Any) -> FaultEvent:
    """A fault of the model's wire, from the first attempt of a step on."""
    params = {name: values[0] for name, values in content.kinds()[kind].params.items()}
    values: dict[str, Any] = {
        "injection_id": f"{kind}@{occurrence}",
        "layer": Layer.MODEL,
        "kind": kind,
        "point": "model:agent",
        "occurrence": occurrence,
        "lasts": Lasts(n=n),
        "params": params,
    }
    return FaultEvent(**(values | fields))


def schedule(*events: FaultEvent, task: SealedTask = TASK) -> FaultSchedule:
    return FaultSchedule(
        schedule_id="s1",
        suite=task.suite,
        task_id=task.task_id,
        seed=1,
        profile="p",
        rate=0.2,
        generator="test",
        horizon=60,
        events=events,
    )


Ran = Callable[..., GatewaySummary]


@pytest.fixture
def run(repo: Repo, tmp_path: Path) -> Ran:
    """Run a command in the repository under faults, to its end."""

    def ran(command: list[str], *events: FaultEvent, **fields: Any) -> GatewaySummary:
        values: dict[str, Any] = {
            "schedule": schedule(*events),
            "log": tmp_path / "log.jsonl",
            "rehearse": TASK,
            "command": tuple(command),
            "timeout_s": 200.0,
            "cwd": repo.path,
        }
        return stand(Setup(**(values | fields)), lambda _standing: None)

    return ran


def agent(retries: int, *words: str) -> list[str]:
    """The agent in one screen (`agent.py`)."""
    return [sys.executable, str(HERE / "agent.py"), str(retries), *words]
