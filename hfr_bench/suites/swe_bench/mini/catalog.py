"""Our twelve tasks as public and sealed halves, from `suites/swe_mini`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest, text_digest
from hfr_bench.model.task import ToolSpec
from hfr_bench.suites._tools import read_tools
from hfr_bench.suites.swe_bench.load import load
from hfr_bench.suites.swe_bench.looking import Project
from hfr_bench.suites.swe_bench.rows import Instance
from hfr_bench.suites.swe_bench.tasks import RepoTask, public_task, sealed_task

SUITE = "swe_mini"


@dataclass(frozen=True, slots=True)
class MiniTask(RepoTask):
    """One task. `tree`: its repository's first commit, as a patch against nothing."""

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


def tool_specs() -> tuple[ToolSpec, ...]:
    """tools.yaml. Raises BadInputError naming each wrong key."""
    return read_tools(folder() / "tools.yaml")


def project(task_id: str) -> Project:
    """What is public of a task's repository, for checks."""
    problem = tasks()[task_id].instance.problem
    test = settings()["visible_tests"]
    return Project((problem.base_commit,), test, "parse_log_pytest", green=True)


def _task(instance: Instance) -> MiniTask:
    if instance.baked is None:
        raise BadInputError(f"{instance.where}: no image, eval.sh, log_parser or eval_type")
    repo = instance.problem.repo.rpartition("/")[2]
    try:
        tree = (folder() / "repos" / f"{repo}.patch").read_text("utf-8")
    except FileNotFoundError as error:
        raise BadInputError(f"{instance.where}: its repository is not there: {error}") from error
    oracle = content.read_yaml(folder() / "tasks" / instance.id / "oracle.yaml")
    specs, problem = tool_specs(), instance.problem
    public = public_task(
        instance,
        suite=SUITE,
        tools=specs,
        deadline_s=float(settings()["deadline_s"]),
        source_digest=digest([problem.base_commit, tree, problem.statement]),
    )
    sealed = sealed_task(instance, SUITE, oracle["commands"], specs)
    return MiniTask(public, sealed, instance, instance.baked, tree)
