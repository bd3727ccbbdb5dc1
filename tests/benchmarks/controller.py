"""CPU microseconds that HFR's controller takes for a simulated task of about six attempts.

    python tests/benchmarks/controller.py [TASKS]

Tasks are shaped like the paper's (§6.2): 4 to 8 steps, 35 % model, 45 % reads, 20 % writes, a
fault at 14 % of the attempts, every answer verified. The tasks are played once, which gives their
events; clocked is the controller hearing them all again. Prints one line of JSON: best and median
of 7 rounds, and `loop_ns`, what a bare loop of Python takes a turn, before and after each: a busy
machine is slow at both, so figures of two runs compare as multiples of it.
"""

import gc
import json
import statistics
import sys
import time
from typing import Any

from hfr_bench.faults.draw import choose, uniform
from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Finishing,
    Intent,
    Observation,
    Proposed,
    Reconciled,
    StepView,
    StrategyEvent,
    Verdict,
    Verified,
)
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, Channel, CheckLevel, Landed, SideEffect
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.testing.fakes import lost, refused

FAULT_RATE, ROUNDS = 0.14, 7
KIT = Kit(
    equipment=Equipment(ledger=True, query=True, ladder=True, verifier=True),
    substitutes={"m": ("backup",)},
    chance_key=("bench",),
)
MESSAGE = {"role": "assistant", "content": "done"}
GOOD = Observation(answered=True, status=200, body="ok", payload=MESSAGE, finish_reason="stop")
FAULTS = (
    (3.0, refused(500)),
    (2.0, refused(429, retry_after="1")),
    (2.0, lost()),
    (1.0, refused(529)),
    (1.0, refused(503)),
    (0.5, refused(403)),
)
LEVELS = (CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC)
PASSED = Verdict(CheckLevel.DETERMINISTIC, passed=True, quality=1.0)


class Player:
    """Plays tasks, and keeps what the controller heard."""

    def __init__(self) -> None:
        self.strategy = Hfr({}, KIT)
        self.heard: list[list[StrategyEvent]] = []
        self.attempts = 0

    def task(self, number: int) -> None:
        """One task, to whatever end."""
        self.heard.append([])
        state: Any = self.strategy.begin()
        now_us = 0
        for step in range(1, 5 + int(uniform("n", number) * 5)):
            view = _step(number, step)
            event: StrategyEvent = Proposed(view(now_us, 0, ()))
            attempts = 0
            while True:
                state, decision = self._ask(state, event)
                now_us += decision.delay_us
                match decision.action:
                    case Action.DISPATCH:
                        attempts += 1
                        self.attempts += 1
                        now_us += 400_000
                        seen = _seen(number, step, attempts)
                        levels = LEVELS if seen.answered else ()
                        event = Attempted(view(now_us, attempts, levels), seen)
                    case Action.VERIFY:
                        event = Verified(view(now_us, attempts, LEVELS), PASSED)
                    case Action.RETRY | Action.DEGRADE_MODEL:
                        event = Proposed(view(now_us, attempts, ()))
                    case Action.RECONCILE:
                        found = uniform("in", number, step) < 0.5
                        landed = Landed.COMMITTED if found else Landed.ABSENT
                        event = Reconciled(view(now_us, attempts, ()), GOOD, landed)
                    case Action.ESCALATE | Action.FAIL:
                        return
                    case _:
                        break
        self._ask(state, Finishing(now_us, 600_000_000))

    def _ask(self, state: Any, event: StrategyEvent) -> tuple[Any, Decision]:
        self.heard[-1].append(event)
        return self.strategy.decide(state, event)


def _step(number: int, step: int) -> Any:
    kind = uniform("kind", number, step)
    channel = Channel.MODEL if kind < 0.35 else Channel.TOOL
    level = SideEffect.QUERYABLE if kind >= 0.8 else SideEffect.READ
    target = "m" if channel is Channel.MODEL else f"{level}-tool"
    key = f"{number}.{step}"
    intent = Intent(key, channel, target, level, "d", key if level.writes else "", key)

    def view(now_us: int, attempts: int, levels: tuple[CheckLevel, ...]) -> StepView:
        return StepView(
            step, intent, target, target, attempts, now_us, 600_000_000,
            can_reconcile=level.writes, can_verify=levels,
        )  # fmt: skip

    return view


def _seen(number: int, step: int, attempt: int) -> Observation:
    if uniform("fault", number, step, attempt) >= FAULT_RATE:
        return GOOD
    return choose(FAULTS, "which", number, step, attempt)


_LOOP = compile("for _ in range(1_000_000): pass", "loop", "exec")


def _loop_ns() -> float:
    """CPU nanoseconds of a turn of a bare loop at module level."""
    began = time.process_time_ns()
    exec(_LOOP, {})
    return (time.process_time_ns() - began) / 1_000_000


def main() -> None:
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    player = Player()
    for number in range(tasks):
        player.task(number)
    begin, decide = player.strategy.begin, player.strategy.decide
    gc.freeze()  # the events are ours, not the controller's garbage
    rounds, loops = [], [_loop_ns()]
    for _ in range(ROUNDS):
        began = time.process_time_ns()
        for events in player.heard:
            state = begin()
            for event in events:
                state, _decision = decide(state, event)
        rounds.append((time.process_time_ns() - began) / tasks / 1000)
        loops.append(_loop_ns())
    told = {
        "us_per_task": round(min(rounds), 1),
        "median_us": round(statistics.median(rounds), 1),
        "loop_ns": round(min(loops), 1),
        "attempts": round(player.attempts / tasks, 2),
        "decisions": round(sum(map(len, player.heard)) / tasks, 2),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
