"""A task that is worked on by commands in a repository: both halves, and how it is run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hfr_bench.model.task import (
    ExpectedEffect,
    OracleStep,
    SealedTask,
    TaskSpec,
    ToolSpec,
)
from hfr_bench.suites._tools import fault_points
from hfr_bench.suites.swe_bench.contracts import BASH, SUBMIT
from hfr_bench.suites.swe_bench.levels import level_of
from hfr_bench.suites.swe_bench.rows import Baked, Instance

HAND_IN = f"echo {SUBMIT}"
PROMPT = """\
You work in a git repository by running shell commands. Resolve the issue below by changing the
repository's own files; leave its tests and its settings alone. When all is done, run this command
by itself: {hand_in}

{statement}"""


@dataclass(frozen=True, slots=True)
class RepoTask:
    """One task. `baked`: how it is run and its log read."""

    public: TaskSpec
    sealed: SealedTask = field(repr=False)
    instance: Instance = field(repr=False)
    baked: Baked = field(repr=False)


def public_task(
    instance: Instance,
    *,
    suite: str,
    tools: Sequence[ToolSpec],
    deadline_s: float,
    source_digest: str,
) -> TaskSpec:
    """What everybody may know; the repository's name is its domain and stratum."""
    repo = instance.problem.repo.rpartition("/")[2]
    return TaskSpec(
        task_id=instance.id,
        suite=suite,
        domain=repo,
        prompt=PROMPT.format(hand_in=HAND_IN, statement=instance.problem.statement),
        stratum=repo,
        deadline_s=deadline_s,
        tools=tuple(tools),
        fault_points=fault_points(tools),
        source_digest=source_digest,
    )


def sealed_task(
    instance: Instance, suite: str, commands: Sequence[str], tools: Sequence[ToolSpec]
) -> SealedTask:
    """The grading half, of a solution's commands; the one that hands it in is added."""
    steps = [*commands, HAND_IN]
    return SealedTask(
        task_id=instance.id,
        suite=suite,
        oracle=tuple(OracleStep(actor="agent", tool=BASH, arguments={"command": c}) for c in steps),
        expected=_expected(steps, tools),
    )


def _expected(commands: Sequence[str], tools: Sequence[ToolSpec]) -> tuple[ExpectedEffect, ...]:
    """The solution's commands that may change something; one that does not is never missed."""
    bash = next(spec for spec in tools if spec.name == BASH)
    counts = Counter(command for command in commands if level_of(command).level.writes)
    return tuple(
        ExpectedEffect(natural_key=bash.natural_key({"command": c}), tool=BASH, count=n)
        for c, n in counts.items()
    )
