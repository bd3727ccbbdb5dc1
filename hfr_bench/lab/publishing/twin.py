"""A synthetic twin: the same registration over generated tasks, for whom the real ones are closed.

Its shape is the original's: arms, faults, rates, seeds, limits, controls, prices, cohorts, as many
tasks. Its tasks are the order desk's, generated from the original's digest, so anybody can freeze
and run it without the suite. It holds no result, and what it comes to is no estimate of the
original's: it shows the machinery at work. Every name and page of it says `twin`.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hfr_bench.lab.offer import own_files
from hfr_bench.lab.register import PREREG, RESTATING, Experiment
from hfr_bench.model.prereg import Lock, ModelPins, Preregistration, SuiteSelection
from hfr_bench.model.terms import ClockKind, Origin

FOLDER = "twin"
SUITE, MOST_TASKS = "shopdesk", 999
_AGENTS = ("tool_calling", "oracle")
_SANDBOXES = ("docker", "process")
_NAME_MAX = 64


class Twin(NamedTuple):
    """A twin's registration, and what of the original it has not, in words."""

    prereg: Preregistration
    differs: tuple[str, ...]


def twin(prereg: Preregistration, lock: Lock) -> Twin:
    """The twin of a registration."""
    tasks = sum(len(source.tasks) for source in lock.sources)
    made_of = {"tasks": min(tasks, MOST_TASKS), "seed": f"twin of {lock.prereg_digest}"}
    kept = tuple(claim for claim in prereg.hypotheses if claim.metric not in RESTATING)
    changed: dict[str, Any] = {
        "name": f"{prereg.name[: _NAME_MAX - len('-twin')]}-twin",
        "title": f"Synthetic twin of: {prereg.title}",
        "description": f"Generated tasks in the shape of {prereg.name} ({lock.prereg_digest}). "
        "What it comes to is no result of the original.",
        "origin": Origin.REHEARSAL,
        "suites": (SuiteSelection(suite=SUITE, pool="base", config=made_of),),
        "agent": prereg.agent if prereg.agent in _AGENTS else _AGENTS[0],
        "model": ModelPins() if prereg.model.backup else ModelPins(backup=None),
        "sandbox": prereg.sandbox if prereg.sandbox in _SANDBOXES else _SANDBOXES[0],
        "sandbox_config": {},
        "clock": ClockKind.VIRTUAL,
        "hypotheses": kept,
        "stopping_rule": prereg.stopping_rule if kept == prereg.hypotheses else "fixed_n",
        "method": None,
        "amends": None,
        "amendment": None,
    }
    fields = {name: getattr(prereg, name) for name in Preregistration.model_fields}
    return Twin(Preregistration(**(fields | changed)), tuple(_differs(prereg, tasks)))


def _differs(prereg: Preregistration, tasks: int) -> list[str]:
    suites = ", ".join(chosen.suite for chosen in prereg.suites)
    found = [f"tasks, tools and contracts: those of {SUITE}, not of {suites}"]
    found += [f"{MOST_TASKS} tasks instead of {tasks}"] if tasks > MOST_TASKS else []
    found += ["the model: a scripted stand-in"] if prereg.origin is not Origin.REHEARSAL else []
    found += [f"the agent: {_AGENTS[0]}"] if prereg.agent not in _AGENTS else []
    lost = [claim.id for claim in prereg.hypotheses if claim.metric in RESTATING]
    found += [f"without {', '.join(lost)}: a rehearsal's success restates its script"] * bool(lost)
    return found


def write(experiment: Experiment, out: Path) -> None:
    """The twin of an experiment as a folder that `hfr-bench freeze` takes.

    Kinds and matrices of the experiment's own go along: the bundle holds them as well.
    """
    made = twin(experiment.prereg, experiment.lock)
    out.mkdir(parents=True)
    plain = made.prereg.model_dump(mode="json", exclude_defaults=True) | {"v": made.prereg.v}
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    (out / PREREG).write_text(f"# {made.prereg.title}\n{text}", encoding="utf-8")
    for path in own_files(experiment.path):
        to = out / path.relative_to(experiment.path)
        to.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, to)
    (out / "README.md").write_text(_readme(made), encoding="utf-8")


def _readme(made: Twin) -> str:
    lines = "\n".join(f"- {text}" for text in made.differs)
    return f"""\
# {made.prereg.title}

**Synthetic twin. Nothing in here is a result, and nothing that it comes to is one of the
original's.** Arms, faults, rates, seeds, limits, controls and number of tasks are the original's.
Otherwise are:

{lines}

    hfr-bench freeze . && hfr-bench run . && hfr-bench report .
"""
