"""The paper's checklist of a real experiment (appendix F), filled from facts, each with its place.

An answer is yes, no or "not applicable"; nothing is answered that no file of the bundle shows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from hfr_bench.lab.register import Experiment
from hfr_bench.model.redaction import Redacted
from hfr_bench.model.report import Report
from hfr_bench.model.terms import Origin

Answer = Literal["yes", "no", "not applicable"]
METRICS = ("sr", "csr", "scr", "cps", "p95", "p99", "dup_1000", "esc", "deg")


class Item(NamedTuple):
    """A line of the checklist: what is asked, the answer, why, and the file that shows it."""

    asked: str
    answer: Answer
    fact: str
    where: str


class Facts(NamedTuple):
    """What the answers are read from."""

    experiment: Experiment
    report: Report
    redacted: Redacted


def filled(facts: Facts) -> tuple[Item, ...]:
    """All items, in the paper's order."""
    return tuple(
        Item(asked, *answer(facts), where) for asked, (answer, where) in _QUESTIONS.items()
    )


Said = tuple[Answer, str]


def _fixed(facts: Facts) -> Said:
    lock = facts.experiment.lock
    tasks = sum(len(source.tasks) for source in lock.sources)
    return "yes", (
        f"{tasks} tasks, seeds {', '.join(map(str, facts.experiment.prereg.seeds))}, registration "
        f"{lock.prereg_digest[:12]}, frozen {lock.frozen_at} ({lock.timestamp_evidence})"
    )


def _versions(facts: Facts) -> Said:
    prereg = facts.experiment.prereg
    tools = ", ".join(f"{one.suite} {one.version}" for one in facts.experiment.lock.sources)
    if prereg.origin is not Origin.LIVE:
        return "yes", f"{tools}; a scripted stand-in for the model, which has no training cutoff"
    return "no", f"{tools}; model {prereg.model.agent}: no registration tells a training cutoff"


def _sandboxed(facts: Facts) -> Said:
    ran_in = ", ".join(facts.report.ran_in) or "nowhere"
    if any(place.split(" ")[0] == "process" for place in facts.report.ran_in):
        return "no", f"ran in {ran_in}: processes of the machine, which isolate nothing"
    return "yes", f"ran in {ran_in}; `hfr-bench stop` ends all injection, each trial is healed"


def _faults(facts: Facts) -> Said:
    book, names, total = facts.experiment.book, set[str](), 0
    for schedule_id in {row.trial.schedule_id for row in facts.experiment.plan}:
        for event in book.schedule(schedule_id).events:
            names.add(event.injection_id)
            total += 1
            if not event.clears_by:
                return "no", f"{event.injection_id} does not say what clears it"
    if len(names) < total:
        return "no", f"{total} faults share {len(names)} ids"
    return "yes", f"{total} planned faults, as many ids; each says when, and what clears it"


def _paired(facts: Facts) -> Said:
    groups: dict[str, list[tuple[str, str]]] = {}
    for row in facts.experiment.plan:
        if row.control is None:
            place = (row.trial.schedule_digest, row.trial.arm)
            groups.setdefault(row.trial.pair_group, []).append(place)
    arms = {arm.name for arm in facts.experiment.prereg.arms}
    odd = [
        group
        for group, places in groups.items()
        if len({digest for digest, _ in places}) > 1 or {arm for _, arm in places} != arms
    ]
    if odd:
        return "no", f"pair group {odd[0]} has not every arm under one schedule"
    if len(facts.report.ran_in) > 1:
        return "no", f"trials ran in different places: {', '.join(facts.report.ran_in)}"
    return "yes", f"{len(groups)} pair groups, each of {len(arms)} arms under one schedule"


def _metrics(facts: Facts) -> Said:
    there = {row.metric for row in facts.report.estimates}
    lacking = [name for name in METRICS if name not in there]
    return ("no", f"without {', '.join(lacking)}") if lacking else ("yes", ", ".join(METRICS))


def _intervals(facts: Facts) -> Said:
    pairs = [row for row in facts.report.contrasts if row.low is not None]
    if not pairs:
        return "no", "no paired difference has an interval"
    return "yes", f"{len(pairs)} paired differences, {facts.report.resamples} resamples of tasks"


def _reviewed(facts: Facts) -> Said:
    review = facts.report.review
    if review is None:
        return "no", "nobody looked trials over"
    return "yes", f"{len(review.raters)} raters; agreement in the report"


def _published(facts: Facts) -> Said:
    counts = ", ".join(f"{n} {rule}" for rule, n in facts.redacted.counts.items()) or "none needed"
    canary = "planted key in no file" if facts.redacted.canary else "no key was planted"
    return "yes", f"redactions: {counts}; {canary}; all frozen files are here"


def _origin(facts: Facts) -> Said:
    return "yes", f"origin {facts.report.origin}, in every table, trace and file name's record"


_QUESTIONS: Mapping[str, tuple[Callable[[Facts], Said], str]] = {
    "Tasks, success criterion and seeds are fixed and recorded": (_fixed, "prereg.lock.json"),
    "Versions of model and tools are fixed, the training cutoff is known": (
        _versions,
        "prereg.lock.json",
    ),
    "Faults are injected in a sandbox, with one switch to stop and a rollback": (
        _sandboxed,
        "report.json",
    ),
    "Each fault has an id, a schedule and a way to clear": (_faults, "schedules/"),
    "All strategies share tasks, model, tools and fault schedules": (_paired, "plan.jsonl"),
    "Metrics are SR, CSR, SCR, CPS, p95/p99, DUP, ESC and DEG": (_metrics, "report.json"),
    "Paired comparison with bootstrap intervals, not means alone": (_intervals, "report.json"),
    "People looked over escalated, rejected and degraded cases": (_reviewed, "reviews/"),
    "Logs are recorded and redacted; configuration and scripts are published": (
        _published,
        "redaction.json",
    ),
    "Synthetic, rehearsed and real results are told apart": (_origin, "bundle.json"),
}


def table(items: Sequence[Item]) -> Iterator[str]:
    """The checklist as lines of Markdown."""
    yield "| | asked | fact | where |"
    yield "|---|---|---|---|"
    for item in items:
        yield f"| {item.answer} | {item.asked} | {item.fact} | `bundle/{item.where}` |"
