"""A task of OSWorld in two parts that may not meet, public and sealed, and what it takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest
from hfr_bench.suites.osworld.cache import Asset, assets_of
from hfr_bench.suites.osworld.evaluator import Evaluator, read_evaluator

_TEXTS = ("id", "snapshot", "instruction")


@dataclass(frozen=True, slots=True)
class Problem:
    """What agent, strategy and verifier may see.

    `apps`: the programs that the task is about; `domain`: the folder it lies in.
    """

    task_id: str
    domain: str
    instruction: str
    apps: tuple[str, ...]
    snapshot: str


@dataclass(frozen=True, slots=True)
class Record:
    """A task.

    `config`: the steps before it; `sealed`: its evaluator as it is written, for `grade`; `proxy`:
    it asks for one; `where`: its file; `source_digest`: of the whole record.
    """

    problem: Problem
    config: tuple[Mapping[str, Any], ...]
    evaluator: Evaluator = field(repr=False)
    sealed: Mapping[str, Any] = field(repr=False)
    proxy: bool
    where: str = ""
    source_digest: str = ""

    @property
    def id(self) -> str:
        return self.problem.task_id

    @property
    def assets(self) -> tuple[Asset, ...]:
        """The files that steps and getters name by URL."""
        return assets_of(self.config, self.evaluator)


def read_record(row: Mapping[str, Any], domain: str, where: str) -> Record:
    """A task. Raises BadInputError naming file and every wrong field."""
    wrong = [f"{key} must be a text" for key in _TEXTS if not isinstance(row.get(key), str)]
    apps, config = row.get("related_apps", []), row.get("config") or []
    if not isinstance(apps, list):
        wrong.append("related_apps must be a list")
    wrong += _step_flaws(config)
    sealed = row.get("evaluator")
    if not isinstance(sealed, Mapping):
        wrong.append("evaluator must be an object")
    if wrong:
        raise BadInputError(f"{where}: {'; '.join(wrong)}")
    assert isinstance(sealed, Mapping)
    try:
        evaluator = read_evaluator(sealed)
    except BadInputError as error:
        raise BadInputError(f"{where}: {error}") from error
    wrong = [f"postconfig: {said}" for said in _step_flaws(evaluator.postconfig)]
    if wrong:
        raise BadInputError(f"{where}: {'; '.join(wrong)}")
    problem = Problem(row["id"], domain, row["instruction"], tuple(apps), row["snapshot"])
    return Record(
        problem=problem,
        config=tuple(config),
        evaluator=evaluator,
        sealed=sealed,
        proxy=bool(row.get("proxy", False)),
        where=where,
        source_digest=digest(dict(row)),
    )


def _step_flaws(steps: Any) -> list[str]:
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        return ["config must be a list of steps"]
    return [f"step {n}: {said}" for n, step in enumerate(steps, 1) for said in _flaws(step)]


def _flaws(step: Any) -> Iterator[str]:
    if not isinstance(step, Mapping) or not isinstance(step.get("type"), str):
        yield "must be an object with a type"
        return
    parameters = step.get("parameters")
    if not isinstance(parameters, Mapping):
        yield "parameters must be an object"
        return
    if step["type"] == "download":
        files = parameters.get("files")
        if not isinstance(files, list) or not all(_file(file) for file in files):
            yield "files must be a list of {url, path}"


def _file(file: Any) -> bool:
    return isinstance(file, Mapping) and all(isinstance(file.get(k), str) for k in ("url", "path"))
