"""Records as tasks: which may be used with what there is, their public and sealed halves."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest
from hfr_bench.model.task import OPEN, ExpectedEffect, FaultPoint, SealedTask, TaskSpec
from hfr_bench.suites.webarena.acting.offer import Offer
from hfr_bench.suites.webarena.acting.points import acting_points
from hfr_bench.suites.webarena.choose import Choice, Equipment, choose
from hfr_bench.suites.webarena.load import PINNED, Pool, Source, load
from hfr_bench.suites.webarena.official.content import SUITE, settings, tool_specs
from hfr_bench.suites.webarena.official.solutions import (
    read_accepted,
    read_solutions,
    solution,
)
from hfr_bench.suites.webarena.places import Places
from hfr_bench.suites.webarena.rows import SITES, Record

WORDS = "words"
"""The pool of tasks that are graded by the answer's words alone: they need no site to be graded."""

POOLS = ("base", WORDS, *PINNED, *SITES)

PROMPT = """\
You work in a browser. You are signed in, and start at {start}. Do this task on {sites}:

{intent}

When it is done, or is found to be impossible, call `stop` with your answer."""

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class SiteTask:
    """One task. `record`: what it is made of."""

    public: TaskSpec
    sealed: SealedTask = field(repr=False)
    record: Record = field(repr=False)


@dataclass(slots=True)
class Catalog:
    """The tasks that records in `folder` (or an installed distribution) tell of.

    `only`: the sites that tasks may lie on; empty: all. `exploratory`: also tasks whose verdict
    rests on accepted answers. Every method raises BadInputError, saying what lacks.
    """

    places: Places
    offer: Offer
    folder: Path | None = None
    only: tuple[str, ...] = ()
    exploratory: bool = False
    _records: dict[Pool, tuple[dict[int, Record], Source]] = field(default_factory=dict)
    _tasks: dict[str, SiteTask] = field(default_factory=dict)
    _solutions: dict[int, tuple[str, ...]] | None = None
    _points: dict[tuple[str, ...], tuple[FaultPoint, ...]] = field(default_factory=dict)

    def pool(self, name: str) -> tuple[SiteTask, ...]:
        """The tasks of a pool that may be used here."""
        if name not in POOLS:
            raise BadInputError(
                f"suite {SUITE} has no pool {name!r}; there are: {', '.join(POOLS)}"
            )
        chosen = self.choice(name)
        records = chosen.confirmatory + (chosen.exploratory if self.exploratory else ())
        if not records:
            raise BadInputError(
                f"suite {SUITE}, pool {name}: no task may be used here: {_reasons(chosen)}"
            )
        if name != WORDS:
            self.places.need(site for record in records for site in record.problem.sites)
        return tuple(self._task(record) for record in records)

    def choice(self, name: str) -> Choice:
        """A pool's tasks for confirming and for exploring, and why not the others."""
        source: Pool = "verified" if name == "verified" else "original"
        if name == "verified-hard":
            source = "verified-hard"
        records: Iterable[Record] = self.records(source).values()
        if name == WORDS:
            records = [one for one in records if one.needs.reads == {"answer"}]
        # Which sites live is no property of a pool: `need` says what is absent.
        equipment = Equipment(accepted=frozenset(self.accepted))
        only = (name,) if name in SITES else self.only
        return choose(records, equipment, only_sites=only)

    def chosen(self, ids: Sequence[str]) -> tuple[SiteTask, ...]:
        """Tasks by name: `original-12`, `verified-12`."""
        found = tuple(self.task(one) for one in ids)
        for one in found:
            if one.record.needs.judge != "never" and not self.exploratory:
                raise BadInputError(
                    f"suite {SUITE}: the verdict on {one.public.task_id} rests on judged words; "
                    "register `exploratory: true` to use it for exploring"
                )
        self.places.need(site for one in found for site in one.record.problem.sites)
        return found

    def task(self, task_id: str) -> SiteTask:
        """A task by name."""
        known = self._tasks.get(task_id)
        if known is not None:
            return known
        shape, _, number = task_id.partition("-")
        if shape not in ("original", "verified") or not number.isdecimal():
            raise BadInputError(
                f"suite {SUITE} has no task {task_id!r}: they are named like original-12 and "
                "verified-12, by the records' own numbers"
            )
        pool: Pool = "original" if shape == "original" else "verified"
        records = self.records(pool)
        if int(number) not in records:
            shown = ", ".join(str(one) for one in list(records)[:_SHOWN])
            raise BadInputError(
                f"suite {SUITE} has no task {task_id!r} among {len(records)} (such as {shown})"
            )
        return self._task(records[int(number)])

    def records(self, pool: Pool) -> Mapping[int, Record]:
        """The records of a pool, by number."""
        return self._load(pool)[0]

    def source(self, pool: Pool) -> Source:
        """What they were read from."""
        return self._load(pool)[1]

    @property
    def accepted(self) -> Mapping[int, tuple[str, ...]]:
        """Answers that are accepted where words are held against words, by task."""
        return {} if self.folder is None or self.folder.is_file() else read_accepted(self.folder)

    def _load(self, pool: Pool) -> tuple[dict[int, Record], Source]:
        if pool not in self._records:
            found, source = load(pool, self._has(pool))
            self._records[pool] = ({record.id: record for record in found}, source)
        return self._records[pool]

    def _has(self, pool: Pool) -> Path | None:
        """The user's folder or file, if it holds these records; None: what is installed."""
        folder = self.folder
        if folder is None or folder.is_file():
            return folder
        path = Path(PINNED[pool].path)
        there = (folder / path).is_file() or (folder / path.name).is_file()
        return folder if there else None

    def _task(self, record: Record) -> SiteTask:
        task_id = f"{record.problem.shape}-{record.id}"
        if task_id not in self._tasks:
            public = self._public(task_id, record)
            sealed = self._sealed(task_id, record)
            self._tasks[task_id] = SiteTask(public, sealed, record)
        return self._tasks[task_id]

    def _public(self, task_id: str, record: Record) -> TaskSpec:
        problem, offer = record.problem, self.offer
        specs = tool_specs(problem.shape)
        if problem.sites not in self._points:
            self._points[problem.sites] = acting_points(specs, offer.routes, problem.sites)
        return TaskSpec(
            task_id=task_id,
            suite=SUITE,
            domain="+".join(sorted(problem.sites)),
            prompt=PROMPT.format(
                start=" and ".join(offer.shown(url) for url in problem.start_urls),
                sites=", ".join(offer.addresses[site] for site in problem.sites),
                intent=problem.intent,
            ),
            stratum=_stratum(record),
            deadline_s=float(settings()["deadline_s"]),
            tools=specs,
            fault_points=self._points[problem.sites],
            source_digest=record.source_digest,
        )

    def _sealed(self, task_id: str, record: Record) -> SealedTask:
        if self._solutions is None:
            folder = self.folder
            known = folder is not None and folder.is_dir()
            self._solutions = read_solutions(folder) if folder is not None and known else {}
        # What is done on the way to the goal nobody has written down: nothing is called unwanted.
        return SealedTask(
            task_id=task_id,
            suite=SUITE,
            oracle=solution(record, self._solutions.get(record.id), self.offer.shown),
            expected=(ExpectedEffect(natural_key=OPEN, tool=OPEN),),
        )


def _stratum(record: Record) -> str:
    sites = "+".join(sorted(record.problem.sites))
    return sites if record.needs.judge == "never" else f"{sites}, exploratory"


def _reasons(choice: Choice) -> str:
    counts = Counter(reason for _, reason in choice.left_out)
    told = [f"{count} {reason}" for reason, count in counts.most_common(_SHOWN)]
    if choice.exploratory:
        told.append(f"{len(choice.exploratory)} for exploring alone (`exploratory: true`)")
    return "; ".join(told) or "there is none"


def left_out(choice: Choice) -> dict[str, str]:
    """How many of a pool's tasks were left out, and why, as a lock holds it."""
    counts = Counter(reason for _, reason in choice.left_out)
    return {f"left out: {reason}": str(count) for reason, count in sorted(counts.items())}


def solution_digest(tasks: Iterable[SiteTask]) -> str:
    """Of the tasks' solutions, whoever wrote them."""
    return digest([[step.model_dump() for step in one.sealed.oracle] for one in tasks])
