"""From the plan and the traces to a report: the only road on which a number is made.

Read are the traces of the last complete round of each pair group. What met which fault is
recomputed from plan and trace; each result is compared with its trace (`lab.rederive` says in
what), while the checker's verdict on the world is taken from the result as it stands. The same
directory gives the same report.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hfr_bench.faults.audit import rows as audit_rows
from hfr_bench.lab.amending import confirmatory, rejoined
from hfr_bench.lab.anytime import anytime
from hfr_bench.lab.book import Outlines
from hfr_bench.lab.by_kind import by_kind, organic
from hfr_bench.lab.cohorts import drawn as drawn_units
from hfr_bench.lab.confirm import confirmed, holds, places_of
from hfr_bench.lab.controls import Found, Ran, controls
from hfr_bench.lab.decode import full
from hfr_bench.lab.deviations import deviations
from hfr_bench.lab.divergence import pools
from hfr_bench.lab.findings import findings
from hfr_bench.lab.further import further
from hfr_bench.lab.ingest import Facts, Ingest, collector_paused
from hfr_bench.lab.joint import broken_chains
from hfr_bench.lab.look_bounds import at_look, look_row
from hfr_bench.lab.looks import Stage
from hfr_bench.lab.on_the_way import on_the_way
from hfr_bench.lab.remarks import Audited, notes, places, voids
from hfr_bench.lab.runlog import last
from hfr_bench.lab.singles import singles
from hfr_bench.lab.store import Checked, Chosen, Store, choose, traces_digest
from hfr_bench.model.mix import FaultMix
from hfr_bench.model.prereg import Hypothesis, Lock, Preregistration
from hfr_bench.model.report import (
    POOLED,
    ControlRow,
    Estimate,
    HypothesisRow,
    PairedEstimate,
    Report,
)
from hfr_bench.model.schedule import FaultSchedule, KindSpec
from hfr_bench.model.trial import PlanRow, TrialResult, named
from hfr_bench.stats.bootstrap import Unit, draw, strata, units
from hfr_bench.stats.columns import Columns, Picked
from hfr_bench.stats.estimate import Setting, estimate
from hfr_bench.stats.names import FEW

ORACLE = "oracle_recovery"


@collector_paused()
def analyse(
    prereg: Preregistration,
    lock: Lock,
    rows: Sequence[PlanRow],
    store: Store,
    schedules: Callable[[str], FaultSchedule],
    kinds: Mapping[str, KindSpec],
    mixes: Sequence[FaultMix] = (),
    look: int | None = None,
    facts: Sequence[Facts] | None = None,
    outlines: Outlines | None = None,
) -> Report:
    """Make the report of an experiment, complete or not.

    `rows`, `store`: plan (with controls) and traces. `outlines`: schedules in short, if to be had.
    `mixes`: checked. `look`: a registered one (`at_look`). `facts`: of all files, if known.
    """
    outlines = outlines or schedules
    facts = facts or _gathered(store, Ingest(prereg, rows, schedules, kinds))
    whole, (prereg, rows, stage) = rows, at_look(prereg, rows, store.folder, look)
    checked = [one.checked for one in facts]
    chosen = choose(rows, checked, prereg.void_rounds)
    ran = _ran(rows, facts, chosen)
    main = [one.result for one in ran if one.row.control is None]
    audited, audits = _audited(prereg, ran), audit_rows(one.facts.audit for one in ran)
    rates = tuple(sorted({row.trial.rate for row in rows}))
    silent = tuple(sorted({row.kind for row in audits if kinds[row.kind].silent}))
    apart = _apart(rows, main, outlines, kinds) if silent else {}
    drawn = drawn_units(prereg, rows, tasks := units(main))
    setting, table = _setting(prereg, lock, drawn), Columns(main)
    estimated = _estimate(prereg, setting, rates, table, apart)
    checks = controls(prereg, ran, audits, audited.found)
    sound = _sound(chosen, audited, checked, checks)
    return Report(
        **_registered(prereg, lock, stage),
        **sound,
        **_size(prereg, whole, ran, tasks, chosen),
        ran_in=places(audited),
        notes=notes(prereg, rows, chosen, checked, audited, tasks, last(store.folder)),
        **estimated,
        **_claims((prereg, lock, stage), estimated, sound, table, drawn, rows, outlines),
        anytime=anytime(confirmatory(prereg, lock), rows, main, chosen.dropped, stage, **sound),
        audit=audits,
        **further(prereg, setting, ran, table),
        **by_kind(prereg, setting, singles(ran, outlines, kinds, table), kinds, mixes),
        **_our_side((prereg, lock), rows, facts, chosen, main, store.folder),
        controls=checks,
        **on_the_way(prereg, rates, ran, silent),
        **findings(prereg, lock, setting, rates, ran, table),
    )


def _sound(
    chosen: Chosen, audited: Audited, checked: Iterable[Checked], checks: Iterable[ControlRow]
) -> dict[str, Any]:
    """The fields `complete` and `valid`: no broken hash chain, no failed check that decides."""
    broken = any(one.breaks for one in checked)
    failed = any(row.decides and row.passed is False for row in checks)
    return {
        "complete": not (chosen.lacking or audited.bad),
        "valid": not broken and not failed,
    }


def _registered(prereg: Preregistration, lock: Lock, stage: Stage | None) -> dict[str, Any]:
    """The report's fields that were fixed before the run, and the look that it is made at."""
    return {
        "look": None if stage is None else look_row(stage),
        "name": prereg.name,
        "title": prereg.title,
        "origin": prereg.origin,
        "prereg_digest": lock.prereg_digest,
        "harness_version": lock.harness_version,
        "seeds": len(prereg.seeds),
        "design": prereg.faults.design,
        "arms": tuple(arm.name for arm in prereg.arms),
        "baseline": prereg.analysis.baseline,
        "protocol_tasks": prereg.protocol_tasks,
        "level": prereg.analysis.level,
        "resamples": prereg.analysis.resamples,
        "human_cost_microusd": round(prereg.human.cost_usd * 1_000_000),
        "capability": _capability(prereg),
    }


def _size(
    prereg: Preregistration,
    rows: Sequence[PlanRow],
    ran: Sequence[Ran],
    tasks: Sequence[Unit],
    chosen: Chosen,
) -> dict[str, Any]:
    """The report's fields that count tasks, units and trials, and the digest of the trials."""
    controls = sum(one.row.control is not None for one in ran)
    return {
        "tasks": len(tasks),
        "units": len(drawn_units(prereg, rows, tasks)[0]) if prereg.cohorts else 0,
        "below_protocol": len(tasks) < prereg.protocol_tasks,
        "trials_planned": sum(row.control is None for row in rows),
        "trials_analysed": len(ran) - controls,
        "control_trials": controls,
        "groups_dropped": len(chosen.dropped),
        "traces_digest": traces_digest(chosen.trials),
    }


def contrasted(prereg: Preregistration) -> tuple[tuple[str, str], ...]:
    """The contrasts: every arm against the baseline, and against the arm that sees the truth.

    Hypotheses' arms are contrasted with every other.
    """
    names = [arm.name for arm in prereg.arms]
    yardsticks = [arm.name for arm in prereg.arms if arm.strategy == ORACLE]
    pairs = [
        (name, other)
        for other in (prereg.analysis.baseline, *yardsticks)
        for name in names
        if name != other
    ]
    for claimed in dict.fromkeys(h.arm for h in prereg.hypotheses):
        pairs += [(claimed, other) for other in names if other != claimed and claimed in names]
    # The reverse of a contrast says nothing new.
    kept: dict[frozenset[str], tuple[str, str]] = {}
    for pair in pairs:
        kept.setdefault(frozenset(pair), pair)
    return tuple(kept.values())


def _apart(
    rows: Sequence[PlanRow],
    main: Sequence[TrialResult],
    outlines: Outlines,
    kinds: Mapping[str, KindSpec],
) -> dict[str, list[TrialResult]]:
    """The trials of explicit and of silent kinds, by what was scheduled for them."""
    planned = {row.trial.trial_id: row.trial.schedule_id for row in rows}
    return pools(main, planned, outlines, kinds)


def _setting(
    prereg: Preregistration, lock: Lock, drawn: tuple[Sequence[Unit], dict[Unit, int]]
) -> Setting:
    """The one weight matrix that every number of the report is made with; its rate is a blank.

    `drawn`: the units, and each task's place among them (`lab.cohorts.drawn`).
    """
    counts = draw(drawn[0], prereg.analysis.resamples, lock.prereg_digest)
    level, of = prereg.analysis.level, strata(drawn[0])
    return Setting(0.0, level, drawn[1], counts, contrasted(prereg), of)


def _estimate(
    prereg: Preregistration,
    shared: Setting,
    rates: Sequence[float],
    table: Columns,
    apart: Mapping[str, Sequence[TrialResult]],
) -> dict[str, Any]:
    """The fields `estimates` and `contrasts`: each rate, and all above 0 taken together; `read_at`.

    All over one weight matrix.

    `table`: of all trials but the controls. `apart`: trials of it whose numbers are made once more,
    by pool (see `pools`).
    """
    estimates: list[Estimate] = []
    contrasts: list[PairedEstimate] = []
    names = [arm.name for arm in prereg.arms]

    def add(arms: Mapping[str, Picked], rate: float, pool: str = "") -> None:
        found, compared = estimate(arms, replace(shared, rate=rate))
        if pool:
            label = {"rate": None, "pool": pool}
            found = [one.model_copy(update=label) for one in found]
            compared = [one.model_copy(update=label) for one in compared]
        estimates.extend(found)
        contrasts.extend(compared)

    for rate in rates:
        add({arm: table.cell(arm, [rate]) for arm in names}, rate)
    faulty = [rate for rate in rates if rate > 0]
    if faulty:
        # A cell like any other: tasks are drawn, and bring their trials of all these rates along.
        # Rates are in the same order in every arm, so the pairs stay those of one schedule.
        add({arm: table.cell(arm, faulty) for arm in names}, faulty[-1], POOLED)
    for pool, trials in apart.items():
        of_arm: dict[str, list[TrialResult]] = {arm: [] for arm in names}
        for trial in trials:
            of_arm[trial.arm].append(trial)
        add({arm: table.pick(own) for arm, own in of_arm.items()}, faulty[-1], pool)
    many = len(shared.counts)
    read_at = shared.read_at(many) if many >= FEW else 0.0
    return {"estimates": tuple(estimates), "contrasts": tuple(contrasts), "read_at": read_at}


def _claims(
    registered: tuple[Preregistration, Lock, Stage | None],
    estimated: Mapping[str, Any],
    sound: Mapping[str, bool],
    table: Columns,
    drawn: tuple[Sequence[Unit], dict[Unit, int]],
    rows: Iterable[PlanRow],
    outlines: Outlines,
) -> dict[str, Any]:
    """The report's fields about registered claims. `sound`: whether it is complete, and valid."""
    prereg, lock, stage = registered
    claims = judged(prereg.hypotheses, estimated["contrasts"], **sound)
    told, places = (table if all(sound.values()) else Columns(())), places_of(rows, outlines)
    kept = [row for row in claims if row.id not in lock.after_data]
    made = confirmed(confirmatory(prereg, lock), lock, kept, told, drawn, places, stage)
    return rejoined(made, claims, lock)


def judged(
    claims: Sequence[Hypothesis],
    contrasts: Iterable[PairedEstimate],
    *,
    complete: bool,
    valid: bool,
) -> tuple[HypothesisRow, ...]:
    """What the intervals say of the registered claims; nothing before all trials are in."""
    found = {(p.metric, p.arm, p.against, p.rate): p for p in contrasts}
    doubt = "" if complete else "not all planned trials are in"
    if not valid:
        doubt = "the experiment is not valid"
    return tuple(_judge(claim, _oriented(claim, found), doubt) for claim in claims)


def _judge(claim: Hypothesis, paired: PairedEstimate | None, doubt: str) -> HypothesisRow:
    row: dict[str, Any] = claim.model_dump(exclude={"v"})
    row |= {"pool": POOLED if claim.rate is None else "", "difference": None}
    if paired is not None:
        row |= {name: getattr(paired, name) for name in ("difference", "low", "high", "method")}
    if doubt or row.get("low") is None or row.get("high") is None:
        note = paired.note if paired is not None else ""
        return HypothesisRow(**row, verdict="cannot be told", why=doubt or note or "no interval")
    held, why = holds(claim, row["low"], row["high"])
    return HypothesisRow(**row, verdict="supported" if held else "not supported", why=why)


def _oriented(
    claim: Hypothesis, found: Mapping[tuple[str, str, str, float | None], PairedEstimate]
) -> PairedEstimate | None:
    """The claim's contrast; if only its reverse was made, that one turned around."""
    if (one := found.get((claim.metric, claim.arm, claim.against, claim.rate))) is not None:
        return one
    back = found.get((claim.metric, claim.against, claim.arm, claim.rate))
    if back is None:
        return None
    turned = {"difference": back.difference, "low": back.high, "high": back.low}
    return back.model_copy(
        update={name: None if value is None else 0.0 - value for name, value in turned.items()}
    )


def _gathered(store: Store, ingest: Ingest) -> Sequence[Facts]:
    from hfr_bench.lab.index import gather  # noqa: PLC0415 - duckdb: who knows the facts needs none

    return gather(store, ingest)


def _ran(rows: Sequence[PlanRow], facts: Iterable[Facts], chosen: Chosen) -> list[Ran]:
    """The analysed trials in the order of the plan, each result in its planned place."""
    found = {id(one.checked): one for one in facts}  # themselves: `chosen` is of these
    ran = []
    for row in rows:
        checked = chosen.trials.get(row.trial.trial_id)
        if checked is None or checked.result is None:
            continue
        result = checked.result
        if named(result) != named(row.trial):
            result = full(TrialResult, result).model_copy(update=row.trial.identity())
        ran.append(Ran(row, found[id(checked)], result))
    return ran


def _audited(prereg: Preregistration, ran: Sequence[Ran]) -> Audited:
    """What the audits of all trials, and their results held against their traces, came to."""
    facts = [one.facts for one in ran]
    chains = broken_chains(prereg, ((one.row, one.facts.joint) for one in ran))
    return Audited(
        tuple(ran),
        tuple(one.start for one in facts if one.start is not None),
        Found(
            [text for one in facts for text in one.audit.failed],
            [text for one in facts for text in one.audit.untrue],
            [*(text for one in facts for text in one.underived), *chains],
        ),
        tuple(str(line) for one in facts for line in one.bad),
    )


def _our_side(
    registered: tuple[Preregistration, Lock],
    rows: Sequence[PlanRow],
    facts: Sequence[Facts],
    chosen: Chosen,
    main: Sequence[TrialResult],
    folder: Path,
) -> dict[str, Any]:
    """The report's fields about what failed, or went otherwise, though nobody injected it."""
    prereg, lock = registered
    checked = [one.checked for one in facts]
    return {
        "organic": organic(prereg, facts),
        "voids": voids(prereg, rows, chosen, checked, main),
        "deviations": deviations(prereg, lock, rows, facts, chosen, folder),
    }


def _capability(prereg: Preregistration) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"arm": arm.name, "strategy": arm.strategy}
        | {k: v for k, v in arm.equipment.model_dump().items() if k != "v"}
        for arm in prereg.arms
    )
