"""Synthetic results and traces, for tests of what reads them."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec, Lasts, Respond, Stall
from hfr_bench.model.terms import Channel, End, Layer, Origin, SideEffect
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    Body,
    EffectExecuted,
    TraceEvent,
    TrialEnded,
    TrialStarted,
    UpstreamHit,
)
from hfr_bench.model.trial import Outcome, Trial, TrialResult

TIMEOUT_US = 10_000_000
BUSY = '{"error": "busy"}'

KINDS = {
    "busy": KindSpec(
        kind="busy", layer=Layer.MODEL, wire={"openai_chat": Respond(status=500, body=BUSY)}
    ),
    "lost": KindSpec(kind="lost", layer=Layer.TOOL, wire={"tool": Stall(stall_s=86400)}, lands=0.5),
}
"""Two fault kinds that need no content folder: a model that answers 500, a lost tool answer."""


def outcome(*, success: bool = True, **fields: Any) -> Outcome:
    """An outcome; plain success or plain failure unless fields say otherwise."""
    end = End.ACCEPTED if success else End.FAILED
    plain = {
        "official": float(success),
        "goal_met": success,
        "accepted": success,
        "in_time": True,
        "end": end,
    }
    return Outcome.model_validate(plain | fields)


def result(
    arm: str = "a",
    task: str = "t1",
    seed: int = 1,
    rate: float = 0.1,
    *,
    of: Outcome | None = None,
    **fields: Any,
) -> TrialResult:
    """A trial's result; graded as a success unless `of` or `void` says otherwise."""
    group = f"{task}.{seed}.{rate:g}"
    graded = None if "void" in fields else of or outcome()
    plain = {
        "trial_id": f"{group}.{arm}",
        "suite": "s",
        "task_id": task,
        "seed": seed,
        "profile": f"p{rate:g}",
        "rate": rate,
        "arm": arm,
        "pair_group": group,
        "origin": Origin.REHEARSAL,
        "outcome": graded,
        "steps": 2,
        "attempts": 2,
        "cost_microusd": 1000,
        "latency_us": 2_000_000,
    }
    return TrialResult.model_validate(plain | fields)


def fault(
    kind: str = "busy",
    point: str = "model:agent",
    occurrence: int = 1,
    *,
    attempts: int = 1,
    lands: bool | None = None,
    **fields: Any,
) -> FaultEvent:
    """A planned event of one of KINDS."""
    return FaultEvent(
        injection_id=f"{kind}@{point}#{occurrence}",
        layer=KINDS[kind].layer,
        kind=kind,
        point=point,
        occurrence=occurrence,
        lasts=Lasts(n=attempts),
        effect_lands=lands,
        **fields,
    )


def schedule(trial: Trial, events: Sequence[FaultEvent] = ()) -> FaultSchedule:
    """The schedule of a trial's pair group."""
    return FaultSchedule(
        schedule_id=trial.schedule_id,
        suite=trial.suite,
        task_id=trial.task_id,
        seed=trial.seed,
        profile=trial.profile,
        rate=trial.rate,
        generator="test",
        horizon=10,
        events=tuple(events),
    )


class At(NamedTuple):
    """A trace body with its place; `t_us` None = a millisecond a line."""

    body: Body
    step: int = 1
    attempt: int = 1
    t_us: int | None = None


def sent(
    point: str = "model:agent",
    occurrence: int = 1,
    *,
    operation_id: str = "op",
    target: str = "m",
    **fields: Any,
) -> AttemptStarted:
    """An attempt that goes out."""
    return AttemptStarted(
        point=point,
        occurrence=occurrence,
        channel=Channel.MODEL if point.startswith("model:") else Channel.TOOL,
        target=target,
        timeout_us=TIMEOUT_US,
        request_digest="r",
        operation_id=operation_id,
        **fields,
    )


def answered(body: str = "fine", **fields: Any) -> AttemptEnded:
    """A good answer."""
    return AttemptEnded(answered=True, status=200, response_digest=text_digest(body), **fields)


def refused(status: int = 500, body: str = BUSY, **fields: Any) -> AttemptEnded:
    """An error answer."""
    return AttemptEnded(answered=False, status=status, response_digest=text_digest(body), **fields)


def timed_out(**fields: Any) -> AttemptEnded:
    """No answer at all."""
    return AttemptEnded.model_validate(
        {"answered": False, "exception": "Timeout", "latency_us": TIMEOUT_US} | fields
    )


def hit(body: str = "fine", *, forwarded: bool = True, occurrence: int = 1) -> UpstreamHit:
    """A model request reached the gateway; with `forwarded`, the model server too."""
    return UpstreamHit(
        point="model:agent",
        occurrence=occurrence,
        target="m",
        told=True,
        forwarded=forwarded,
        upstream_status=200 if forwarded else None,
        injection_id=None if forwarded else "i",
        response_digest=text_digest(body),
    )


def ran(operation_id: str = "op", *, changed: bool = True, body: str = "fine") -> EffectExecuted:
    """A tool really ran."""
    return EffectExecuted(
        operation_id=operation_id,
        point="tool:book",
        tool="book",
        actor="agent",
        level=SideEffect.QUERYABLE,
        natural_key="book",
        args_digest="d",
        changed=("row",) if changed else (),
        response_digest=text_digest(body),
    )


def started(trial: Trial, round_: int = 1) -> At:
    """A trial's first line."""
    body = TrialStarted(
        **trial.identity(),
        prereg_digest=trial.prereg_digest,
        schedule_digest=trial.schedule_digest,
        arm_digest="d",
        round=round_,
        origin=Origin.REHEARSAL,
        sandbox="process",
        clock="virtual",
        injected=trial.injected,
        expected={"book": 1},
    )
    return At(body, 0, 0)


def events(trial_id: str, bodies: Iterable[At], wall_us: int = 7) -> list[TraceEvent]:
    """Bodies as chained trace events, a millisecond apart unless they have a time."""
    made: list[TraceEvent] = []
    prev = ""
    for seq, (body, step, attempt, t_us) in enumerate(bodies, 1):
        event = TraceEvent(
            trial_id=trial_id,
            seq=seq,
            t_us=seq * 1000 if t_us is None else t_us,
            wall_us=wall_us * seq,
            step=step,
            attempt=attempt,
            prev=prev,
            body=body,
        )
        prev = hashlib.sha256(event.dumps().encode()).hexdigest()
        made.append(event)
    return made


def write_trial(
    folder: Path, trial: Trial, bodies: Iterable[At], round_: int = 1, wall_us: int = 7
) -> Path:
    """Write a trial's trace where the journal would; returns its path."""
    path = folder / "trials" / trial.pair_group / f"r{round_}" / f"{trial.arm}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [event.dumps() for event in events(trial.trial_id, bodies, wall_us)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def ended(trial: Trial, **fields: Any) -> At:
    """A trial's last line; `fields` as of `result`."""
    same = {
        name: getattr(trial, name)
        for name in ("trial_id", "suite", "profile", "pair_group", "cohort_id")
    }
    made = result(trial.arm, trial.task_id, trial.seed, trial.rate, **(same | fields))
    return At(TrialEnded(result=made), 0, 0)
