"""Tasks as public and sealed halves: of a user's checkout, or of our own pack."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest
from hfr_bench.model.task import ExpectedEffect, OracleStep, SealedTask, TaskSpec, ToolSpec
from hfr_bench.suites._tools import fault_points, read_tools
from hfr_bench.suites.agentbench.os_interaction.contracts import ANSWER, BASH, FINISH
from hfr_bench.suites.agentbench.os_interaction.levels import level_of
from hfr_bench.suites.agentbench.os_interaction.rows import OsRow, read_row
from hfr_bench.suites.agentbench.source import checkout, json_objects

OWN, UPSTREAM = "os_mini", "os_interaction"
DATA, SCRIPTS = "data/os_interaction/data", "data/os_interaction/scripts"
STD, DEV = tuple("1234567"), "dev"
PROMPT = """\
You work on a Linux system by shell scripts. Do what is asked for, or find out what is asked. Call \
one tool at a time: bash_action runs a script, which may not ask for input; what it says is cut if \
it is long. When you know the answer to a question, call answer_action with it, exact and without \
other words; when something was to be done and is done, call finish_action.

{question}"""
DONE = "done"
WHY = {
    "session": "starts a session (`start`) that the agent goes on with: here every script has a "
    "shell of its own",
    "network": "installs or removes a package, and there is no network",
    "image": "needs another image than `default`",
}
_INSTALLS = re.compile(r"\bapt(-get)?\b")
_IMAGE = "default"


@dataclass(frozen=True, slots=True)
class OsTask:
    """One task."""

    public: TaskSpec
    row: OsRow = field(repr=False)

    @property
    def lacks(self) -> str:
        """What it needs and does not get here: session, network or image; "" for nothing."""
        row = self.row
        if row.start is not None:
            return "session"
        made = (*row.init, row.example)
        if any(script is not None and _INSTALLS.search(script.text) for script in made):
            return "network"
        return "" if row.image == _IMAGE else "image"


def folder(suite: str) -> Path:
    """Where our content for a suite lies."""
    return content.root() / "suites" / suite


@cache
def settings(suite: str) -> Mapping[str, Any]:
    """suite.yaml."""
    found: Mapping[str, Any] = content.read_yaml(folder(suite) / "suite.yaml")
    return found


@cache
def tool_specs() -> tuple[ToolSpec, ...]:
    """The four tools. Raises BadInputError naming each wrong key."""
    return read_tools(folder(UPSTREAM) / "tools.yaml")


def load(suite: str, pool: str, data_dir: Path | None) -> Mapping[str, OsTask]:
    """The tasks of `std`, `dev`, or of our own pack (`own`), by id."""
    return {task.public.task_id: task for task in _tasks(suite, pool, data_dir)}


def _tasks(suite: str, pool: str, data_dir: Path | None) -> Iterator[OsTask]:
    if suite == OWN:
        own = folder(OWN)
        for where, row in json_objects(own / "tasks.json"):
            yield _task(suite, read_row(row, where, own), "own")
        return
    root = checkout(suite, data_dir)
    if pool == DEV:
        yield from _file(suite, root / DATA / "dev.json", root / SCRIPTS / DEV, "dev")
        return
    for part in STD:
        files = sorted((root / DATA / part).glob("*.json"))
        if not files:
            raise BadInputError(f"{root / DATA / part}: no tasks are there")
        for path in files:
            prefix = f"std-00{part}-{path.stem}"
            yield from _file(suite, path, root / SCRIPTS / part, prefix)


def _file(suite: str, path: Path, scripts: Path, prefix: str) -> Iterator[OsTask]:
    for number, (where, row) in enumerate(json_objects(path)):
        yield _task(suite, read_row(row, where, scripts), f"{prefix}-{number:05}")


def _task(suite: str, row: OsRow, task_id: str) -> OsTask:
    made = [script.text for script in row.init]
    public = TaskSpec(
        task_id=row.name or task_id,
        suite=suite,
        domain="shell",
        prompt=PROMPT.format(question=row.question),
        stratum=kind(row),
        deadline_s=float(settings(suite)["deadline_s"]),
        tools=tool_specs(),
        fault_points=fault_points(tool_specs()),
        source_digest=digest([row.question, row.image, made, row.start and row.start.text]),
    )
    return OsTask(public, row)


def kind(row: OsRow) -> str:
    """What a task wants: a known `answer`, one that is `found` by its solution, a `state`."""
    if row.match is not None:
        return "answer"
    return "found" if row.answered_by_example else "state"


def sealed(suite: str, task: OsTask, found: str | None) -> SealedTask:
    """The grading half. `found`: what the solution says, where the answer is what it finds."""
    row = task.row
    commands = list(row.commands)
    if not commands and row.example is not None:
        commands = [row.example.text]
    steps = [OracleStep(actor="agent", tool=BASH, arguments={"script": c}) for c in commands]
    answer = found if row.match is None else row.match.answer
    if answer is None:
        steps.append(OracleStep(actor="agent", tool=FINISH, arguments={"thought": DONE}))
    else:
        steps.append(OracleStep(actor="agent", tool=ANSWER, arguments={"answer": answer}))
    return SealedTask(
        task_id=task.public.task_id,
        suite=suite,
        oracle=tuple(steps),
        expected=_expected(steps),
    )


def _expected(steps: Sequence[OracleStep]) -> tuple[ExpectedEffect, ...]:
    """The end, and the solution's scripts that may change something; none is ever missed."""
    specs = {spec.name: spec for spec in tool_specs()}
    counts: Counter[tuple[str, str]] = Counter()
    for step in steps:
        if step.tool != BASH or level_of(step.arguments["script"]).writes:
            counts[step.tool, specs[step.tool].natural_key(step.arguments)] += 1
    return tuple(
        ExpectedEffect(natural_key=key, tool=tool, count=n) for (tool, key), n in counts.items()
    )


def content_digest(suite: str) -> str:
    """Of our own files that a suite is made of."""
    own = [content.read_yaml(folder(UPSTREAM) / "tools.yaml"), dict(settings(suite)), PROMPT]
    if suite == OWN:
        own.append((folder(OWN) / "tasks.json").read_text("utf-8"))
    return digest(own)


def kinds(tasks: Sequence[OsTask]) -> Mapping[str, int]:
    """How many tasks of each kind, and of those that lack something: what a checkout holds."""
    made = Counter(task.lacks or task.public.stratum for task in tasks)
    return dict(sorted(made.items()))
