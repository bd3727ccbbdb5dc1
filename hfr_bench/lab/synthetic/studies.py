"""Where the paper's model is silent (§6.4, §6.8): what it leaves to others, each as a small study.

Here are those over independent tasks; those in which tasks meet are in `crowds`. Everything is
synthetic: it shows what follows from the model, not how often that happens.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hfr_bench.lab.synthetic.jobs import Run, tallies
from hfr_bench.lab.synthetic.params import ByCriticality, Verifier, World, world
from hfr_bench.lab.synthetic.tally import Tally
from hfr_bench.model.record import Record

SEED = 7
Number = float | int | str


class Series(Record):
    """A line of a figure."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


class Found(Record):
    """A study's table and figure. `says`: what can be read from them, and under what conditions."""

    name: str
    title: str
    says: str
    head: tuple[str, ...]
    rows: tuple[tuple[Number, ...], ...]
    x: str
    y: str
    series: tuple[Series, ...]
    log: bool = False


class Effort(NamedTuple):
    """How much is simulated. `arms`: of the cohorts; () = all that a study compares."""

    tasks: int = 4000
    seeds: int = 3
    workers: int = 1
    arms: tuple[str, ...] = ()


Study = Callable[[Effort], Found]


def verifier(effort: Effort) -> Found:
    """What a verifier's two kinds of mistakes cost (paper §6.8: noise is not modelled)."""
    printed = world().paper.verifier
    missed = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
    rejected = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
    worlds = [
        *(Verifier(finds_model=1 - a, finds_tool=1 - a, false_reject=0.02) for a in missed),
        *(printed.model_copy(update={"false_reject": b}) for b in rejected),
    ]
    runs = [_run("HFR", world().changed(verifier=one), effort) for one in worlds]
    found = [tally.metrics() | {"FAR": _far(tally)} for tally in tallies(runs, effort.workers)]
    labels = [("misses", a) for a in missed] + [("rejects good", b) for b in rejected]
    rows: list[tuple[Number, ...]] = [
        (what, share, *(round(m[name], 2) for name in ("SR", "FAR", "ESC", "cost", "att")))
        for (what, share), m in zip(labels, found, strict=True)
    ]
    n = len(missed)
    return Found(
        name="verifier", title="A verifier's mistakes, HFR",
        says="False accepts end as silent failures one for one; false rejects are paid for in "
        "attempts, degradations and people, and far less in success.",
        head=("mistake", "share", "SR %", "FAR %", "ESC %", "cost", "attempts"), rows=tuple(rows),
        x="share of mistakes", y="SR %",
        series=(
            Series(name="misses wrong answers", x=missed, y=_sr(found[:n])),
            Series(name="rejects right answers", x=rejected, y=_sr(found[n:])),
        ),
    )  # fmt: skip


def absence(effort: Effort) -> Found:
    """Reconciliation against a world that at first says no (appendix D, proposition 3)."""
    shares = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
    settled = json.dumps({"idempotency": {"settle_ms": 2000}})
    arms: Mapping[str, tuple[str, str, bool]] = {
        "HFR, asks once": ("HFR", "{}", False),
        "HFR, settle window": ("HFR", settled, True),
        "HFR-idempotency, never asks": ("HFR-idempotency", "{}", False),
    }
    runs = [
        _run(arm, world().changed(keys=False, false_absent=share), effort, overlay, timed=timed)
        for arm, overlay, timed in arms.values()
        for share in shares
    ]
    found = [tally.metrics()["DUP"] for tally in tallies(runs, effort.workers)]
    lines = [
        Series(name=name, x=shares, y=tuple(found[i * len(shares) : (i + 1) * len(shares)]))
        for i, name in enumerate(arms)
    ]
    rows = tuple(
        (share, *(round(line.y[i], 2) for line in lines)) for i, share in enumerate(shares)
    )
    return Found(
        name="absence", title="Duplicates where the world denies a write that is in",
        says="Tools here know no keys, so that the query alone protects. Duplicates grow with the "
        "false denials; asking again after the settle window (two independent answers) squares "
        "their share.",
        head=("false denials", *(f"{name}: DUP/1000" for name in arms)), rows=rows,
        x="share of false denials", y="duplicates per 1000 tasks", series=tuple(lines),
    )  # fmt: skip


def prices(effort: Effort) -> Found:
    """From which price of a person on escalation no longer pays (DESIGN §7: giving up)."""
    none, all_ = ByCriticality(low=0, medium=0, high=0), ByCriticality(low=1, medium=1, high=1)
    policies: Mapping[str, tuple[str, World]] = {
        "HFR, nobody to call": ("HFR", _people(none)),
        "HFR, by criticality": ("HFR", world()),
        "HFR, always somebody": ("HFR", _people(all_)),
        "AlwaysEscalate": ("AlwaysEscalate", world()),
    }
    runs = [_run(arm, here, effort) for arm, here in policies.values()]
    found = dict(zip(policies, tallies(runs, effort.workers), strict=True))
    base = found["HFR, nobody to call"]
    ratios = tuple(10 ** (i / 10 - 2) for i in range(31))
    rows = tuple(
        (
            name, round(100 * _failed(t) / t.tasks, 2), round(100 * t.silent / t.tasks, 2),
            round(100 * t.escalated / t.tasks, 2), _break_even(t, base),
        )
        for name, t in found.items()
    )  # fmt: skip
    lines = tuple(
        Series(
            name=name, x=ratios,
            y=tuple((_failed(t) + ratio * t.escalated) / t.tasks for ratio in ratios),
        )
        for name, t in found.items()
    )  # fmt: skip
    return Found(
        name="prices", title="What a task loses, by the price of a person over that of a failure",
        says="A policy beats `nobody to call` while a person costs less, in failures, than its "
        "break-even. HFR calls a person only where nothing else is left, and each of these tasks "
        "would have failed: it pays up to a whole failure. Calling at the first failure gives "
        "away what would have been repaired. Failures include silent ones; attempts have no price "
        "here.",
        head=("policy", "failed %", "of these silent %", "escalated %", "break-even"), rows=rows,
        x="price of a person / price of a failure", y="loss of a task, in failures", series=lines,
        log=True,
    )  # fmt: skip


def _people(share: ByCriticality) -> World:
    return world().changed(person_for_permanent=share, person_for_exhausted=share)


def _break_even(tally: Tally, base: Tally) -> Number:
    """The ratio at which both lose the same; "-" for the base itself."""
    people = tally.escalated / tally.tasks - base.escalated / base.tasks
    saved = _failed(base) / base.tasks - _failed(tally) / tally.tasks
    return round(saved / people, 3) if people > 0 else "-"


def _failed(tally: Tally) -> int:
    return tally.tasks - tally.succeeded - tally.escalated


def _far(tally: Tally) -> float:
    accepted = tally.succeeded + tally.silent
    return 100 * tally.silent / accepted if accepted else 0.0


def _sr(found: Sequence[Mapping[str, float]]) -> tuple[float, ...]:
    return tuple(one["SR"] for one in found)


def _run(arm: str, here: World, effort: Effort, overlay: str = "{}", *, timed: bool = False) -> Run:
    tasks = effort.tasks * effort.seeds
    return Run(arm, here.dumps(), "literal", SEED, tasks, overlay, timed)
