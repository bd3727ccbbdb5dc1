"""Studies in which tasks meet: retry storms, tenants, incidents (paper §6.4 and §6.8).

The paper's budget ablation is a null result because its tasks never meet. Here they share the main
model's queue, its breakers and their tenants' buckets, and both do bind.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from hfr_bench.lab.synthetic.cohort import MICRO, Cohort, Ended, Tenant, Upstream, Window
from hfr_bench.lab.synthetic.crew import Crew
from hfr_bench.lab.synthetic.deal import odds
from hfr_bench.lab.synthetic.jobs import changed, spread
from hfr_bench.lab.synthetic.params import MODEL, arms, world
from hfr_bench.lab.synthetic.studies import (
    Effort,
    Found,
    Number,
    Series,
    Study,
    absence,
    prices,
    verifier,
)

_BUCKET = {"retry": {"max_retries_per_tenant_per_min": 120}}
_BREAKER = {"circuit_breaker": {"enabled": True}}
ARMS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "NoRetry": ("NoRetry", {}),
    "FixedRetry3": ("FixedRetry3", {}),
    "RetryOnly": ("RetryOnly", {}),
    "HFR, neither": ("HFR", {}),
    "HFR, tenant budget": ("HFR", _BUCKET),
    "HFR, breaker": ("HFR", _BREAKER),
    "HFR, both": ("HFR", {**_BUCKET, **_BREAKER}),
}
"""What is compared: an arm and settings laid over its own."""


class Scene(NamedTuple):
    """A cohort to be played: who comes when, and what the upstream does. Times in seconds."""

    arm: str
    seed: int
    tenants: tuple[Tenant, ...]
    per_s: float | None = None
    slow: tuple[int, int, float] = (0, 0, 1.0)
    windows: tuple[Window, ...] = ()


class Seen(NamedTuple):
    """What came of it; `late`: answers that came after their callers had gone."""

    ended: list[Ended]
    calls: int
    late: int


def staged(scene: Scene) -> Seen:
    """Play the scene. Every attempt is charged, faults are the literal rules'."""
    name, overlay = ARMS[scene.arm]
    here = world()
    crew = Crew(name, changed(arms()[name], json.dumps(overlay)), here, here.rules["literal"])
    slow = scene.slow[0] * MICRO, scene.slow[1] * MICRO, scene.slow[2]
    upstream = Upstream(scene.seed, scene.per_s, slow=slow, windows=scene.windows)
    ended = Cohort(crew, odds(here), scene.seed, upstream).run(scene.tenants)
    return Seen(ended, upstream.calls, upstream.late)


STORM_S, SLOW_S, BIN_S = 300, (60, 90), 30


def storm(effort: Effort) -> Found:
    """A slow half minute, and what is left of it minutes later (metastable failure)."""
    tenants = (Tenant(1, 4.0, STORM_S * MICRO),)
    seen = _all(effort, partial(_scene, tenants=tenants, per_s=10.0, slow=(*SLOW_S, 4.0)))
    edges = range(0, STORM_S, BIN_S)
    lines, rows = [], []
    for arm, group in seen.items():
        ended = [one for part in group for one in part.ended]
        shares = tuple(_good(ended, at, at + BIN_S) for at in edges)
        lines.append(Series(name=arm, x=tuple(float(at + BIN_S / 2) for at in edges), y=shares))
        before = _good(ended, 0, SLOW_S[0])
        rows.append(
            (
                arm, round(before, 1), round(_good(ended, *SLOW_S), 1),
                round(_good(ended, 210, STORM_S), 1), _recovered(shares, before),
                round(_attempts(ended), 2), round(100 * _late(group), 1),
            )
        )  # fmt: skip
    return Found(
        name="storm", title="A retry storm: SR of tasks by when they began",
        says="The main model works off 10 calls a second; tasks ask for about 9 when all is well. "
        f"From {SLOW_S[0]} to {SLOW_S[1]} s it is four times slower. Arms that retry what timed "
        "out keep the queue longer than their patience, long after the cause is gone; a tenant's "
        "retry budget ends that within minutes, a breaker at once. Together they do worse than the "
        "breaker alone: its waits are retries too, and use the budget up.",
        head=("arm", "SR before", "slow", "from 210 s on", "back to 90 % of before (s)",
              "attempts a step", "late answers %"),
        rows=tuple(rows), x="seconds", y="SR %", series=tuple(lines),
    )  # fmt: skip


def tenants(effort: Effort) -> Found:
    """A quiet tenant, and others who fill the queue."""
    both = (
        Tenant(1, 1.0, STORM_S * MICRO),
        Tenant(2, 2.0, STORM_S * MICRO),
        Tenant(3, 4.0, 120 * MICRO, 60 * MICRO),  # a minute's burst
    )
    seen = _all(effort, partial(_scene, tenants=both, per_s=10.0))
    edges = range(0, STORM_S, BIN_S)
    lines, rows = [], []
    for arm, group in seen.items():
        quiet = [one for part in group for one in part.ended if one.tenant == 1]
        shares = tuple(_good(quiet, at, at + BIN_S) for at in edges)
        lines.append(Series(name=arm, x=tuple(float(at + BIN_S / 2) for at in edges), y=shares))
        rows.append(
            (
                arm, round(_good(quiet, 0, 60), 1), round(_good(quiet, 60, 120), 1),
                round(_good(quiet, 120, STORM_S), 1), round(_p95(quiet), 1),
            )
        )  # fmt: skip
    return Found(
        name="tenants", title="A quiet tenant, while another sends a minute's burst",
        says="One queue for all: 1 and 2 tasks a second, and 4 more from 60 to 120 s. What the "
        "quiet tenant loses, and for how long, is decided by how the others' failures are retried.",
        head=("arm", "SR before", "in the burst", "after it", "p95 (s)"),
        rows=tuple(rows), x="seconds", y="SR % of the quiet tenant", series=tuple(lines),
    )  # fmt: skip


def incidents(effort: Effort) -> Found:
    """The main model is down for everybody at once: what a breaker shared by all tasks spares."""
    lasting = (10, 30, 60, 120)
    named = ("RetryOnly", "HFR, neither", "HFR, breaker")
    lines, rows = [], []
    found: dict[tuple[str, int], list[Seen]] = {}
    for seconds in lasting:
        window = (Window(60 * MICRO, (60 + seconds) * MICRO, MODEL, 0, 1.0),)
        scene = partial(_scene, tenants=(Tenant(1, 4.0, 240 * MICRO),), windows=window)
        found.update({(a, seconds): g for a, g in _all(effort, scene, named).items()})
    for arm in dict.fromkeys(arm for arm, _ in found):
        shares = []
        for seconds in lasting:
            ended = [one for part in found[arm, seconds] for one in part.ended]
            within = [o for o in ended if 60 * MICRO <= o.began_us < (60 + seconds) * MICRO]
            shares.append(_good(within, 0, STORM_S))
            rows.append(
                (
                    arm, seconds, round(shares[-1], 1), round(_attempts(within), 2),
                    round(_p95(within), 1), round(_good(ended, 60 + seconds, 240), 1),
                )
            )  # fmt: skip
        lines.append(Series(name=arm, x=tuple(map(float, lasting)), y=tuple(shares)))
    return Found(
        name="incidents", title="The main model down for all: tasks that begin meanwhile",
        says="The backup model stays up. HFR goes there at the first refusal of each step; with a "
        "breaker that all tasks share it does so before asking. After the incident the breaker "
        "costs what it takes to find out that it is over.",
        head=("arm", "incident (s)", "SR in it", "attempts a step", "p95 (s)", "SR after it"),
        rows=tuple(rows), x="length of the incident (s)", y="SR % of tasks begun in it",
        series=tuple(lines),
    )  # fmt: skip


def _scene(arm: str, seed: int, **given: Any) -> Scene:
    return Scene(arm, seed, **given)


def _all(effort: Effort, scene: Any, named: Sequence[str] = tuple(ARMS)) -> dict[str, list[Seen]]:
    """Every arm under every seed."""
    named = [arm for arm in named if not effort.arms or arm in effort.arms]
    scenes = [scene(arm, seed) for arm in named for seed in range(1, effort.seeds + 1)]
    seen = spread(staged, scenes, effort.workers)
    return {arm: seen[i * effort.seeds : (i + 1) * effort.seeds] for i, arm in enumerate(named)}


def _good(ended: Sequence[Ended], from_s: float, to_s: float) -> float:
    """SR in percent of the tasks that began between."""
    some = [one.good for one in ended if from_s * MICRO <= one.began_us < to_s * MICRO]
    return 100 * fmean(some) if some else 0.0


def _recovered(shares: Sequence[float], before: float) -> Number:
    """Seconds from the end of the cause until SR was back; "never" within the scene."""
    for i, share in enumerate(shares):
        if i * BIN_S >= SLOW_S[1] and share >= 0.9 * before:
            return i * BIN_S - SLOW_S[1]
    return "never"


def _attempts(ended: Sequence[Ended]) -> float:
    return sum(one.attempts for one in ended) / max(1, sum(one.steps for one in ended))


def _late(group: Sequence[Seen]) -> float:
    return sum(part.late for part in group) / max(1, sum(part.calls for part in group))


def _p95(ended: Sequence[Ended]) -> float:
    return float(np.percentile([one.us for one in ended], 95)) / MICRO if ended else 0.0


STUDIES: Mapping[str, Study] = {
    "storm": storm,
    "tenants": tenants,
    "incidents": incidents,
    "verifier": verifier,
    "absence": absence,
    "prices": prices,
}
"""All studies by name."""
