"""Simulated tasks a second and core, trace off and on, and how much of it the strategy takes.

    python tests/benchmarks/simulate.py [TASKS]

Prints one line of JSON a strategy: best of 7 rounds in CPU time, `loop_ns` (what a bare loop of
Python takes a turn: 15 on the quiet machine that the figures are stated for) and tasks a second
at that speed. `strategy_share`: of the time, what goes into `decide`. And the peak memory (MB).
"""

import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from hfr_bench.lab.synthetic.crew import Crew
from hfr_bench.lab.synthetic.deal import BLOCK, deal, odds
from hfr_bench.lab.synthetic.params import arms, world
from hfr_bench.lab.synthetic.play import Play
from hfr_bench.lab.synthetic.stage import Stage
from hfr_bench.lab.synthetic.tally import Tally

ROUNDS, QUIET_NS = 7, 15.0
_LOOP = compile("for _ in range(1_000_000): pass", "loop", "exec")


class Heard:
    """A strategy that notes what it hears."""

    def __init__(self, inner: Any, log: list[tuple[Any, list[Any]]]) -> None:
        self._inner, self._log = inner, log

    def begin(self) -> Any:
        self._log.append((self._inner, []))
        return self._inner.begin()

    def decide(self, state: Any, event: Any) -> Any:
        self._log[-1][1].append(event)
        return self._inner.decide(state, event)


def loop_ns() -> float:
    began = time.process_time_ns()
    exec(_LOOP, {})
    return (time.process_time_ns() - began) / 1e6


def played(play: Play, blocks: int) -> Tally:
    """What a job does, tally and draws included."""
    tally, chances = Tally(), odds(world())
    for block in range(blocks):
        tasks = deal(chances, 1, block)
        for number in range(BLOCK):
            if play.trace is not None:
                play.trace.clear()
            play.run(play.begin(tasks, number))
            tally.add(play)
    return tally


def again(log: list[tuple[Any, list[Any]]]) -> None:
    """The strategy alone, hearing the same again."""
    for strategy, events in log:
        state, decide = strategy.begin(), strategy.decide
        for event in events:
            state, _ = decide(state, event)


def best_us(what: Callable[[], Any], tasks: int) -> tuple[float, float]:
    """Microseconds a task and nanoseconds of a loop, each the best of its rounds."""
    times, loops = [], [loop_ns()]
    for _ in range(ROUNDS):
        began = time.process_time_ns()
        what()
        times.append((time.process_time_ns() - began) / tasks / 1000)
        loops.append(loop_ns())
    return min(times), min(loops)


def main() -> None:
    blocks = max(1, (int(sys.argv[1]) if len(sys.argv) > 1 else 4000) // BLOCK)
    tasks = blocks * BLOCK
    for name in ("HFR", "RetryOnly", "NoRetry"):
        crew = Crew(name, arms()[name], world(), world().rules["literal"])
        play = Play(crew, odds(world()), 1, Stage())
        plain, loop = best_us(lambda: played(play, blocks), tasks)  # noqa: B023 - called at once
        play.trace = []
        traced, _ = best_us(lambda: played(play, blocks), tasks)  # noqa: B023 - called at once
        play.trace, log, seats = None, [], crew._seats
        crew._seats = [Heard(seat, log) for seat in seats]
        played(play, blocks)
        gc.freeze()  # the events are ours
        alone, _ = best_us(lambda: again(log), tasks)  # noqa: B023 - called at once
        scale = QUIET_NS / loop
        told = {
            "arm": name,
            "us_per_task": round(plain, 1),
            "loop_ns": round(loop, 1),
            "tasks_per_s": round(1e6 / (plain * scale)),
            "tasks_per_s_traced": round(1e6 / (traced * scale)),
            "strategy_share": round(alone / plain, 2),
        }
        print(json.dumps(told))
    print(json.dumps({"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))


if __name__ == "__main__":
    main()
