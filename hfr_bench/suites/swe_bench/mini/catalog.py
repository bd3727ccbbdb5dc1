"""Our twelve tasks as public and sealed halves, from `suites/swe_mini`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest, text_digest
from hfr_bench.model.task import (
    ExpectedEffect,
    FaultPoint,
    OracleStep,
    SealedTask,
    TaskSpec,
    ToolSpec,
)
from hfr_bench.model.terms import Layer
from hfr_bench.suites.swe_bench.levels import level_of
from hfr_bench.suites.swe_bench.load import load
from hfr_bench.suites.swe_bench.mini.contracts import BASH, SUBMIT
from hfr_bench.suites.swe_bench.rows import Baked, Instance

SUITE = "swe_mini"
HAND_IN = f"echo {SUBMIT}"
PROMPT = """\
You work in a git repository by running shell commands. Resolve the issue below by changing the
repository's own files; leave its tests and its settings alone. When all is done, run this command
by itself: {hand_in}

{statement}"""


@dataclass(frozen=True, slots=True)
class MiniTask:
    """One task.

    `tree`: its repository's first commit, as a patch against nothing; `baked`: how it is run and
    its log read.
    """

    public: TaskSpec
    sealed: SealedTask = field(repr=False)
    instance: Instance = field(repr=False)
    baked: Baked = field(repr=False)
    tree: str = field(repr=False)


def folder() -> Path:
    """Where the content lies."""
    return content.root() / "suites" / SUITE


def settings() -> Mapping[str, Any]:
    """suite.yaml."""
    found: Mapping[str, Any] = content.read_yaml(folder() / "suite.yaml")
    return found


@cache
def tasks() -> Mapping[str, MiniTask]:
    """By id, sorted. Raises BadInputError naming the file that cannot be used."""
    return {instance.id: _task(instance) for instance in load(folder())}


@cache
def content_digest() -> str:
    """Of every file of the content."""
    files = sorted(path for path in folder().rglob("*") if path.is_file())
    return digest(
        {p.relative_to(folder()).as_posix(): text_digest(p.read_text("utf-8")) for p in files}
    )


@cache
def tool_specs() -> tuple[ToolSpec, ...]:
    """tools.yaml. Raises BadInputError naming each wrong key."""
    path = folder() / "tools.yaml"
    try:
        rows = content.read_yaml(path).items()
        return tuple(ToolSpec.model_validate({"name": name} | row) for name, row in rows)
    except ValidationError as error:
        raise BadInputError(f"{path}: {content.explain(error)}") from error


def _task(instance: Instance) -> MiniTask:
    if instance.baked is None:
        raise BadInputError(f"{instance.where}: no image, eval.sh, log_parser or eval_type")
    repo = instance.problem.repo.rpartition("/")[2]
    try:
        tree = (folder() / "repos" / f"{repo}.patch").read_text("utf-8")
    except FileNotFoundError as error:
        raise BadInputError(f"{instance.where}: its repository is not there: {error}") from error
    oracle = content.read_yaml(folder() / "tasks" / instance.id / "oracle.yaml")
    commands = [*oracle["commands"], HAND_IN]
    sealed = SealedTask(
        task_id=instance.id,
        suite=SUITE,
        oracle=tuple(
            OracleStep(actor="agent", tool=BASH, arguments={"command": c}) for c in commands
        ),
        expected=_expected(commands),
    )
    return MiniTask(_public(instance, repo, tree), sealed, instance, instance.baked, tree)


def _public(instance: Instance, repo: str, tree: str) -> TaskSpec:
    statement, specs = instance.problem.statement, tool_specs()
    return TaskSpec(
        task_id=instance.id,
        suite=SUITE,
        domain=repo,
        prompt=PROMPT.format(hand_in=HAND_IN, statement=statement),
        stratum=repo,
        deadline_s=float(settings()["deadline_s"]),
        tools=specs,
        fault_points=_fault_points(specs),
        source_digest=digest([instance.problem.base_commit, tree, statement]),
    )


def _fault_points(specs: Sequence[ToolSpec]) -> tuple[FaultPoint, ...]:
    """The models' roles, both tools, and the reads that a strategy makes for itself."""
    points = [
        FaultPoint(point=f"model:{role}", layer=Layer.MODEL, target="agent")
        for role in ("agent", "compress")
    ]
    for tool in specs:
        points.append(
            FaultPoint(
                point=f"tool:{tool.name}", layer=Layer.TOOL, target=tool.name, level=tool.level
            )
        )
        if tool.reconcile is not None:
            points += [
                FaultPoint(
                    point=f"{purpose}:{tool.name}", layer=Layer.TOOL, target=tool.reconcile.read
                )
                for purpose in ("prepare", "reconcile", "verify")
            ]
    return tuple(points)


def _expected(commands: Sequence[str]) -> tuple[ExpectedEffect, ...]:
    """The solution's commands that may change something; one that does not is never missed."""
    bash = next(spec for spec in tool_specs() if spec.name == BASH)
    counts = Counter(command for command in commands if level_of(command).level.writes)
    return tuple(
        ExpectedEffect(natural_key=bash.natural_key({"command": c}), tool=BASH, count=n)
        for c, n in counts.items()
    )
