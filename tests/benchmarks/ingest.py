"""CPU seconds from 20,000 traces to a report: without an index, and with a fresh one.

    python tests/benchmarks/ingest.py [--tasks 200] [--steps 4] [--keep DIR]

Writes a whole frozen experiment (8 arms x 4 rates x 3 seeds x 200 tasks, and its controls: 20,400
trials) whose traces are laid out as the harness writes them, then runs `hfr-bench report --json`
in processes of their own and prints what each used, as one line of JSON. The time for writing is
not counted. The program has its bytecode, as an installed one has (here: in a folder of its own).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from hfr_bench import content
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.shape import declared
from hfr_bench.lab.book import read_book
from hfr_bench.lab.plan import cells, plan_rows
from hfr_bench.lab.register import LOCK, PLAN, PREREG, SCHEDULES
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.prereg import Lock, Preregistration
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultEvent, FaultSchedule
from hfr_bench.model.task import FaultPoint, TaskSpec
from hfr_bench.model.terms import Action, Channel, End, Origin, SideEffect
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    Body,
    Decided,
    EffectExecuted,
    Escalated,
    Said,
    StepEnded,
    TrialEnded,
    TrialStarted,
    UpstreamHit,
)
from hfr_bench.model.trial import Outcome, PlanRow, Trial, TrialResult
from hfr_bench.testing.results import At, write_trial

ARMS = (
    "no_retry", "fixed_retry", "exp_retry", "degrade_only", "hfr",
    "always_escalate", "blind_resend", "oracle_recovery",
)  # fmt: skip
TOOLS = 12
FACE = {Channel.MODEL: "openai_chat", Channel.TOOL: "tool"}
TIMEOUT_US = {Channel.MODEL: 60_000_000, Channel.TOOL: 10_000_000}
COST = {Channel.MODEL: 1830, Channel.TOOL: 1000}


def registration() -> Preregistration:
    return Preregistration.model_validate(
        {
            "name": "ingest",
            "title": "How fast are traces read?",
            "origin": "rehearsal",
            "suites": [{"suite": "made"}],
            "seeds": [1, 2, 3],
            "arms": [{"name": name, "strategy": name} for name in ARMS],
            "controls": {"arm": "hfr"},
            "analysis": {"baseline": "no_retry"},
        }
    )


def tasks(count: int) -> list[TaskSpec]:
    points = [FaultPoint(point="model:agent", layer="model", target="m")]
    for tool in range(TOOLS):
        points += [
            FaultPoint(
                point=f"{prefix}:t{tool}", layer="tool", target="t", level=SideEffect.QUERYABLE
            )
            for prefix in ("tool", "reconcile")
        ]
    return [
        TaskSpec(task_id=f"made/{number:04}", suite="made", fault_points=tuple(points))
        for number in range(count)
    ]


@dataclass
class Player:
    """A trial as the harness would have written it: model and tool steps in turn."""

    trial: Trial
    cursor: Cursor
    steps: int
    lines: list[At] = field(default_factory=list)
    now_us: int = 0
    attempts: int = 0
    cost: int = 0
    waited_us: int = 0
    lost: int = 0
    failed_us: int = -1
    recovered_us: list[int] = field(default_factory=list)
    ambiguous: set[int] = field(default_factory=set)
    done: dict[str, int] = field(default_factory=dict)

    def play(self) -> list[At]:
        self.lines.append(At(self._started(), 0, 0, 0))
        self._say("user", 0)
        end, taken = End.ACCEPTED, 0
        for step in range(1, self.steps + 1):
            taken = step
            if (end := self._step(step)) is not End.ACCEPTED:
                break
        if end is End.ACCEPTED:
            self._say("agent", 0)
            self._add(Decided(on="Finishing", action=Action.ACCEPT), 0, 0)
        self._add(TrialEnded(result=self._result(end, taken)), 0, 0)
        return self.lines

    def _step(self, step: int) -> End:
        channel = Channel.MODEL if step % 2 else Channel.TOOL
        point = "model:agent" if step % 2 else f"tool:t{step // 2 % TOOLS}"
        occurrence = (step + 1) // 2 if step % 2 else 1
        for attempt in range(1, 9):
            self._add(Decided(on="Proposed", action=Action.DISPATCH), step, attempt - 1)
            event = self._attempt(channel, point, occurrence, step, attempt)
            if event is None or self._knows(point):
                self._add(Decided(on="Attempted", action=Action.ACCEPT), step, attempt)
                ended = {"channel": channel, "point": point, "occurrence": occurrence}
                ended |= {"attempts": attempt, "action": "ACCEPT", "result_digest": "0" * 64}
                self._add(StepEnded.model_validate(ended), step, attempt)
                self._recovered()
                return End.ACCEPTED
            if self.trial.arm == "always_escalate":
                self._add(Decided(on="Attempted", action=Action.ESCALATE), step, attempt)
                self._escalate(step, point)
                return End.ESCALATED
            if self.trial.arm == "no_retry":
                break
            self._add(Decided(on="Attempted", action=Action.RETRY), step, attempt)
        self._add(Decided(on="Attempted", action=Action.FAIL), step, 8)
        return End.FAILED

    def _knows(self, point: str) -> bool:
        return self.trial.arm in ("hfr", "oracle_recovery") and point in self.done

    def _attempt(
        self, channel: Channel, point: str, occurrence: int, step: int, attempt: int
    ) -> FaultEvent | None:
        operation = f"{self.trial.trial_id}.{step}.{attempt}"
        request = text_digest(point)
        writes = channel is Channel.TOOL
        self._add(
            AttemptStarted(
                point=point,
                occurrence=occurrence,
                channel=channel,
                target="rehearsal-primary" if step % 2 else point,
                timeout_us=TIMEOUT_US[channel],
                intent_id=request[:16],
                key=f"{request[:16]}.{step}" if writes else "",
                stepless_key=request[:16] if writes else "",
                level=SideEffect.QUERYABLE if writes else SideEffect.READ,
                request_digest=request,
                operation_id=operation,
            ),
            step,
            attempt,
        )
        event = self.cursor.at(point, occurrence, attempt, target="t", now_us=self.now_us)
        lands = event is None or bool(event.effect_lands)
        answer = text_digest(f"{point}.{step}")
        if writes and lands:
            self._add(self._effect(operation, point, answer), step, attempt)
            self.done[point] = self.done.get(point, 0) + 1
            self.lost += event is not None
        elif channel is Channel.MODEL and self.trial.injected:
            self._add(self._hit(point, occurrence, attempt, event, answer), step, attempt)
        seen = self._seen(channel, event, answer)
        if writes and seen.exception is not None:
            self.ambiguous.add(step)
        if not seen.answered and self.failed_us < 0:
            self.failed_us = self.now_us
        self.now_us += seen.latency_us
        self.waited_us += 0 if seen.answered else seen.latency_us
        self.attempts += 1
        self.cost += seen.cost_microusd or 0
        self._add(seen, step, attempt)
        return event

    def _seen(self, channel: Channel, event: FaultEvent | None, answer: str) -> AttemptEnded:
        model = channel is Channel.MODEL
        cost = COST[channel]
        if event is None:
            return AttemptEnded(
                answered=True, status=200, response_digest=answer, cost_microusd=cost,
                returned_model="rehearsal-primary" if model else None,
                finish_reason="stop" if model else None,
                tokens_in=7643 if model else 0, tokens_out=19 if model else 0,
                latency_us=1_044_123 if model else 400_000,
            )  # fmt: skip
        shape = declared(event, content.kinds()[event.kind], FACE[channel], TIMEOUT_US[channel])
        return AttemptEnded(
            answered=False, status=shape.status, exception=shape.exception, cost_microusd=cost,
            response_digest=shape.response_digest, retry_after=shape.retry_after,
            latency_us=shape.latency_us or 0,
        )  # fmt: skip

    def _hit(
        self, point: str, occurrence: int, attempt: int, event: FaultEvent | None, answer: str
    ) -> UpstreamHit:
        return UpstreamHit(
            point=point,
            occurrence=occurrence,
            attempt=attempt,
            target="rehearsal-primary",
            told=True,
            forwarded=event is None,
            upstream_status=200 if event is None else None,
            injection_id=event.injection_id if event else None,
            kind=event.kind if event else None,
            request_digest=text_digest(point),
            response_digest=answer,
        )

    def _effect(self, operation: str, point: str, answer: str) -> EffectExecuted:
        return EffectExecuted(
            operation_id=operation,
            point=point,
            tool=point.removeprefix("tool:"),
            actor="agent",
            level=SideEffect.QUERYABLE,
            natural_key=text_digest(point),
            args_digest=text_digest(answer),
            changed=("orders/17", "stock/4"),
            response_digest=answer,
        )

    def _escalate(self, step: int, point: str) -> None:
        in_doubt = (text_digest(point)[:16],) if point != "model:agent" and self.ambiguous else ()
        packet = EscalationPacket(
            trial_id=self.trial.trial_id,
            step=step,
            reason="made",
            committed=tuple(text_digest(p)[:16] for p in self.done if p != point),
            unknown=in_doubt,
        )
        self._add(Escalated(packet=packet), step, 0)
        self._recovered()
        self.now_us += 10_000_000
        self.cost += 20_000

    def _started(self) -> TrialStarted:
        trial = self.trial
        expected = {text_digest(f"tool:t{n % TOOLS}"): 1 for n in range(1, self.steps // 2 + 1)}
        return TrialStarted(
            **trial.identity(),
            prereg_digest=trial.prereg_digest,
            schedule_digest=trial.schedule_digest,
            arm_digest=text_digest(trial.arm),
            origin=Origin.REHEARSAL,
            sandbox="process",
            clock="virtual",
            injected=trial.injected,
            expected=expected,
        )

    def _result(self, end: End, steps: int) -> TrialResult:
        called = end is End.ESCALATED
        outcome = Outcome(
            official=float(end is End.ACCEPTED),
            goal_met=end is End.ACCEPTED,
            accepted=end is End.ACCEPTED,
            in_time=True,
            end=end,
            effects=sum(self.done.values()),
            duplicates=sum(n - 1 for n in self.done.values()),
            packet_true=True if called else None,
            ambiguous_writes=len(self.ambiguous),
            lost_effects=self.lost,
        )
        models = [at.body for at in self.lines if isinstance(at.body, AttemptEnded)]
        return TrialResult(
            trial_id=self.trial.trial_id,
            **self.trial.identity(),
            origin=Origin.REHEARSAL,
            outcome=outcome,
            steps=steps,
            attempts=self.attempts,
            cost_microusd=self.cost,
            latency_us=self.now_us,
            injected_wait_us=self.waited_us,
            human_us=10_000_000 * called,
            tokens_in=sum(body.tokens_in for body in models),
            tokens_out=sum(body.tokens_out for body in models),
            state_digest=text_digest(self.trial.task_id),
            recoveries=len(self.recovered_us),
            recovery_us=sum(self.recovered_us),
        )

    def _recovered(self) -> None:
        if self.failed_us >= 0:
            self.recovered_us.append(self.now_us - self.failed_us)
        self.failed_us = -1

    def _say(self, who: str, step: int) -> None:
        said = Said.model_validate({"who": who, "text_digest": text_digest(who), "length": 141})
        self._add(said, step, 0)

    def _add(self, body: Body, step: int, attempt: int) -> None:
        self.lines.append(At(body, step, attempt, self.now_us))


def write(folder: Path, count: int, steps: int) -> tuple[int, int]:
    """A frozen experiment and all its traces; returns the numbers of trials and lines."""
    prereg, kinds = registration(), content.kinds()
    matrix = content.matrix(prereg.faults.matrix)
    planned = list(cells(prereg, tasks(count), matrix, kinds))
    rows = list(plan_rows(prereg, prereg.digest(), planned))
    (folder / SCHEDULES).mkdir(parents=True)
    (folder / PREREG).write_text(yaml.safe_dump(prereg.model_dump(mode="json")))
    text = "".join(f"{cell.schedule.dumps()}\n" for cell in planned)
    (folder / SCHEDULES / "made.jsonl").write_text(text)
    plan_text = "".join(f"{row.dumps()}\n" for row in rows)
    (folder / PLAN).write_text(plan_text)
    lock = Lock(
        prereg_digest=prereg.digest(),
        name=prereg.name,
        origin=prereg.origin,
        frozen_at="2026-01-01T00:00:00Z",
        harness_version="0",
        generator=planned[0].schedule.generator,
        sources=(),
        matrix_digest=matrix.digest(),
        kinds_digest=content.kinds_digest(),
        prices_digest="",
        schedules_digest=read_book(folder / SCHEDULES).digest,
        plan_digest=text_digest(plan_text),
        schedules=len(planned),
        trials=len(rows),
    )
    (folder / LOCK).write_text(lock.dumps())
    schedules = {cell.schedule.schedule_id: cell.schedule for cell in planned}
    return len(rows), sum(traces(folder, rows, schedules, steps))


def traces(
    folder: Path, rows: list[PlanRow], schedules: dict[str, FaultSchedule], steps: int
) -> Iterator[int]:
    for row in rows:
        planned = schedules[row.trial.schedule_id]
        cursor = Cursor(planned.events if row.trial.injected else ())
        lines = Player(row.trial, cursor, steps).play()
        write_trial(folder, row.trial, lines)
        yield len(lines)


def report_cpu_s(folder: Path, bytecode: Path, verb: str = "report") -> float:
    """CPU seconds of `hfr-bench report DIR --json`, its start included."""
    env = os.environ | {"PYTHONPYCACHEPREFIX": str(bytecode), "PYTHONDONTWRITEBYTECODE": ""}
    program = [sys.executable, "-m", "hfr_bench", verb]
    subprocess.run([*program, "--help"], check=True, stdout=subprocess.DEVNULL, env=env)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*program, str(folder), "--json"], check=True, stdout=subprocess.DEVNULL, env=env
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--keep", type=Path, help="write the experiment here, and keep it")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch) / "made"
        told: dict[str, object] = {}
        if not folder.exists():
            trials, lines = write(folder, asked.tasks, asked.steps)
            told = {"trials": trials, "lines_per_trial": round(lines / trials, 1)}
        (folder / "hfr.duckdb").unlink(missing_ok=True)
        cache = Path(scratch) / "bytecode"
        told |= {
            "report_without_index_cpu_s": round(report_cpu_s(folder, cache), 2),
            "report_with_index_cpu_s": round(report_cpu_s(folder, cache), 2),
            "status_with_index_cpu_s": round(report_cpu_s(folder, cache, "status"), 2),
            "load": os.getloadavg()[0],
        }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
