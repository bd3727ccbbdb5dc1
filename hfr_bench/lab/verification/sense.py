"""What a forger who links and seals everything anew must still get right: that it makes sense.

Of a trace: its lines count, its time does not go back, all of it is one trial's. Of all traces: a
round follows a void, the trials of one task want the same, runs were as many as their journal
tells. Of the files: each belongs to something.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal
from hfr_bench.lab.amending import PARENTS, lineage
from hfr_bench.lab.cohorts import crowds
from hfr_bench.lab.looks import LOOKS, stages
from hfr_bench.lab.pricing import PRICES
from hfr_bench.lab.runlog import LOOKED, RUN_LOG
from hfr_bench.lab.store import Checked
from hfr_bench.lab.verification.files import Work, judge
from hfr_bench.model.bundle import Check
from hfr_bench.model.invocation import Invocation
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.terms import Channel, Origin
from hfr_bench.model.trial import PlanRow
from hfr_bench.ports.tape import CASSETTES

_FLAT = "rehearsal"  # the backend that charges by the attempt, whatever its tokens
_SELF_ASSERTED = "self-asserted"  # the one word that freezing writes; a token speaks for itself


def journal(work: Work) -> tuple[Invocation, ...]:
    """The lines of run.jsonl that can be read, in its order."""
    found, path = [], work.folder / RUN_LOG
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        with suppress(ValidationError):
            found.append(Invocation.loads(line))
    return tuple(found)


def evidence(claimed: str) -> list[str]:
    """A lock may call its date what only a checked token could show."""
    told = f"the lock calls its date {claimed!r}, and no file shows that"
    return [] if claimed == _SELF_ASSERTED else [told]


# -- level 1 ----------------------------------------------------------------------------------


def of_one_task(starts: Mapping[str, Any]) -> Check:
    """What a task expects is the same whichever arm tries it.

    `starts`: the first line's body of each trace, by path. A forger who lets one arm do something
    twice must let all of them.
    """
    fields = ("expected", "goal_version")  # `source` may tell of the machine, and runs may move
    found: dict[tuple[str, ...], dict[str, str]] = {}
    wrong = []
    for name, body in starts.items():
        for field in fields:
            task = (body.suite, body.task_id, field)
            said = json.dumps(getattr(body, field), sort_keys=True)
            others = found.setdefault(task, {said: name})
            if said not in others:
                wrong.append(
                    f"{name} starts with another {field} than {next(iter(others.values()))}"
                )
    tasks = len({key[:2] for key in found})
    return judge(1, "trials of one task want the same", wrong, f"{tasks} tasks")


def belongs(work: Work, prereg: Preregistration, rows: Sequence[PlanRow]) -> Check:
    """No file lies beside the experiment that its registration has no use for."""
    names = [name for name in work.digests if name.startswith((f"{PARENTS}/", f"{CASSETTES}/"))]
    wrong = []
    if LOOKS in work.digests and not stages(prereg, rows):
        wrong.append(f"{LOOKS}: no looks are registered")
    if PRICES in work.digests and prereg.origin is not Origin.LIVE:
        wrong.append(f"{PRICES}: no live model is registered")
    parents: set[str] = set()
    with suppress(BadInputError):  # what amends nothing readable is said by its own check
        short = [one.prereg.digest()[:12] for one in lineage(work.folder, prereg)]
        parents = {f"{PARENTS}/{name}.{end}" for name in short for end in ("yaml", "lock.json")}
    wrong += [
        f"{name}: it amends no such registration"
        for name in names
        if name.startswith(PARENTS) and name not in parents and prereg.amends is None
    ]
    planned = {(row.trial.pair_group, f"{row.trial.arm}.jsonl") for row in rows}
    wrong += [
        f"{name}: nobody's responses"
        for name in names
        if name.startswith(CASSETTES)
        and (prereg.origin is not Origin.LIVE or _ends(name) not in planned)
    ]
    return judge(1, "every file belongs to the registration", wrong, "all do")


def _ends(name: str) -> tuple[str, str]:
    """Group and file of a path whose last parts are group, round, file."""
    group, _, file = name.split("/")[-3:]
    return group, file


# -- level 2 ----------------------------------------------------------------------------------


def rounds(rows: Sequence[PlanRow], checked: Iterable[Checked]) -> list[str]:
    """Rounds that lack, and rounds that nothing had made necessary."""
    by_round: dict[str, dict[int, list[Checked]]] = defaultdict(lambda: defaultdict(list))
    crowd = {
        row.trial.pair_group: first for first, members in crowds(rows).items() for row in members
    }
    for one in checked:
        by_round[crowd.get(one.file.group, one.file.group)][one.file.round].append(one)
    wrong = []
    for group, found in by_round.items():
        for number in range(1, max(found)):
            if number not in found:
                wrong.append(f"{group}: round {number} is not there, a later one is")
            elif not any(one.result is None or one.result.void for one in found[number]):
                wrong.append(f"{group}: round {number + 1} was run, and none of {number} was void")
    return wrong


def ran(work: Work) -> Iterator[Check]:
    """run.jsonl and traces tell of the same runs; no line of it is needed for a number."""
    title = f"{RUN_LOG} tells of as many trials"
    found = [line for line in journal(work) if line.end != LOOKED]  # which ran nothing
    closed = [line for line in found if line.end is not None]
    if not closed:
        lacks = f"cannot be told: {RUN_LOG} holds no run that ended"
        yield Check(level=2, check=title, ok=None, detail=lacks)
        return
    told, voids = sum(line.ran for line in closed), sum(line.voids for line in closed)
    there = len(work.seen)
    kept = len(work.says.archived) + _left_out(work)
    void = sum(one.result is not None and one.result.void is not None for one in work.checked)
    whole = len(closed) * 2 == len(found)  # a run that was killed tells nothing of its trials
    wrong = [f"{there} trials are there, runs tell of {told}"] if whole and there > told else []
    wrong += _endings(found)
    lost = []
    if told > there + kept:
        lost.append(f"runs tell of {told} trials, {there} are there")
    if voids > void + kept:
        lost.append(f"runs tell of {voids} voids, {void} are there")
    fine = f"{told} by {len(closed)} runs, {voids} void"
    if lost and not wrong and not work.says.complete:  # as the bundle says, something is missing
        yield Check(level=2, check=title, ok=None, detail="; ".join(lost))
        return
    yield judge(2, title, [*wrong, *lost], fine)


def _endings(found: Sequence[Invocation]) -> Iterator[str]:
    """A run is told when it begins and when it ends, in this order."""
    begun = Counter[str]()
    for number, line in enumerate(found, 1):
        begun[line.owner] += 1 if line.end is None else -1
        if begun[line.owner] < 0:
            yield f"line {number} ends a run that no line before it began"
            return


def _left_out(work: Work) -> int:
    """How many archived files a redacted bundle says that it leaves out."""
    try:
        said = json.loads(work.kept.get(seal.REDACTED, b"{}")).get("left_out", ())
    except (ValueError, AttributeError, RecursionError):
        return 0
    return len(said) if isinstance(said, list) else 0


# -- level 3 ----------------------------------------------------------------------------------


def prices(work: Work, prereg: Preregistration) -> Check:
    """Tools cost what was registered; a rehearsal's model costs the same whoever asks it.

    What a live model's tokens cost is `verification.prices`' to say.
    """
    tool, of_models, wrong = round(prereg.tool_price.cost_usd * 1_000_000), dict[str, str](), []
    flat, counts = prereg.model.llm == _FLAT, Counter[str]()
    for one in work.seen:
        for (channel, model, cost), times in sorted(one.costs, key=str):
            counts[channel] += times
            price = "null" if cost is None else str(cost)
            if channel == Channel.TOOL and cost != tool:
                wrong.append(f"{one.name}: a tool cost {price}, registered {tool}")
            elif flat and model and of_models.setdefault(model, price) != price:
                wrong.append(f"{one.name}: {model} cost {price}, elsewhere {of_models[model]}")
    asked = counts[Channel.MODEL]  # none by the oracle agent
    fine = f"{tool} microdollars for each of {counts[Channel.TOOL]} tool calls"
    if flat:
        fine += f"; {asked} calls of {len(of_models)} models" if asked else "; no model was called"
    return judge(3, "each attempt costs its price", wrong, fine)
