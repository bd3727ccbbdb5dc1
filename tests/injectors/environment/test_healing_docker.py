"""However a trial ends, what was broken is whole again, or gone: ^C, kill -9, the kill switch."""

import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from hfr_bench import content, plugins
from hfr_bench.errors import InfrastructureError
from hfr_bench.lab.injecting import Nested
from hfr_bench.lab.killswitch import KillSwitch
from hfr_bench.lab.trial import InterruptedTrialError, run_trial
from hfr_bench.model.terms import ClockKind
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.rig import StepsAgent
from hfr_bench.testing.stockroom import StockSuite, bookings

from .conftest import TASK, fault

pytestmark = pytest.mark.docker

# A process that leaves one container frozen and another one cut off, and says so.
LEAVES = """\
import sys, time
from hfr_bench import plugins
from hfr_bench.model.terms import ClockKind
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Partition, Pause, SandboxContext
from hfr_bench.testing.stockroom import PEER, PORT, StockSuite

sandbox = plugins.find("sandboxes", "docker")(SandboxContext(sys.argv[1], this_process()))
suite = StockSuite(sandbox, {}, networked=True)
cut, frozen = suite.open(), StockSuite(sandbox, {}).open()
try:
    cut.host.inflict(Partition(PEER, PORT))
    frozen.host.inflict(Pause())
    print("broken", flush=True)
    time.sleep(600)
finally:
    sandbox.close()
"""


@pytest.fixture
def run() -> str:
    return f"test{secrets.token_hex(6)}"


@pytest.fixture
def leaver(run: str) -> Iterator["subprocess.Popen[str]"]:
    child = subprocess.Popen([sys.executable, "-c", LEAVES, run], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "broken\n"
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def containers(engine: docker.APIClient, run: str) -> list[str]:
    """The states of a run's containers that do not end by themselves."""
    deadline = time.monotonic() + 60
    while True:
        found = engine.containers(all=True, filters={"label": f"hfr.run={run}"})
        if all(one["State"] in ("running", "paused") for one in found):
            return sorted(one["State"] for one in found)
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def test_interrupted_nothing_broken_is_left(
    leaver: "subprocess.Popen[str]", run: str, engine: docker.APIClient
) -> None:
    assert containers(engine, run) == ["paused", "running", "running"]
    leaver.send_signal(signal.SIGINT)
    leaver.wait(60)
    assert containers(engine, run) == []
    assert engine.networks(filters={"label": f"hfr.run={run}"}) == []


def test_killed_what_was_broken_is_removed_by_the_next_start(
    leaver: "subprocess.Popen[str]", run: str, engine: docker.APIClient
) -> None:
    leaver.kill()
    leaver.wait()
    # Who is not frozen sees its stdin end and goes; a frozen one stays until it is found.
    assert "paused" in containers(engine, run)
    sandbox = plugins.find("sandboxes", "docker")(SandboxContext(run, this_process()))
    deadline = time.monotonic() + 60
    while sandbox.reap():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert containers(engine, run) == []
    assert engine.networks(filters={"label": f"hfr.run={run}"}) == []
    sandbox.close()


@pytest.fixture
def trial(run: str, tmp_path: Path) -> Iterator["Trial"]:
    made = Trial(run, tmp_path / "a.jsonl")
    yield made
    made.sandbox.close()


class Trial:
    """A trial whose agent meets a pause on the wall clock, with a switch at hand."""

    def __init__(self, run: str, path: Path) -> None:
        self.switch = KillSwitch()
        self.sandbox = plugins.find("sandboxes", "docker")(SandboxContext(run, this_process()))
        steps = bookings("book", 1)
        self.suite: Any = StockSuite(self.sandbox, {TASK: steps})
        self.bench: Any = FakeBench(
            (fault("env_pause", "tool:book"),),
            lambda: StepsAgent(steps),
            shop=self.suite,
            clock="wall",
            limits={"tool_timeout_s": 300},
        )
        self.bench.interrupted = self.switch.event
        self.bench.gateway.start("http://127.0.0.1:1")
        self.bench.gateway = self.switch.wire(self.bench.gateway)
        made = [plugins.find("injectors", name)() for name in ("tool_calls", "environment")]
        self.bench.tool_injector = self.switch.calls(Nested(made))
        self.bench.kinds = content.kinds()
        self.scope: Any = FakeScope(self.bench)
        self.path = path
        self.ended: list[BaseException] = []

    def work(self) -> None:
        try:
            run_trial(self.scope, planned_row("no_retry", TASK), 1, self.path)
        except (InterruptedTrialError, InfrastructureError) as error:
            self.ended.append(error)


def test_the_kill_switch_ends_a_trial_that_waits_for_a_frozen_container(
    trial: Trial, run: str, engine: docker.APIClient
) -> None:
    working = threading.Thread(target=trial.work)
    working.start()
    deadline = time.monotonic() + 60
    while containers(engine, run) != ["paused"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # As `Bench.abort` does.
    trial.switch.pull()
    trial.sandbox.close()
    trial.switch.heal()
    working.join(60)
    assert not working.is_alive()
    (error,) = trial.ended
    assert isinstance(error, InterruptedTrialError)
    assert containers(engine, run) == []
    assert not trial.path.exists()


def test_a_trial_that_breaks_off_leaves_a_whole_container(
    trial: Trial, run: str, engine: docker.APIClient
) -> None:
    """Our own defect in the midst of a trial: it is void, and the next one has a whole host."""

    class Breaks:
        def __init__(self, steps: Any) -> None:
            self._inner = StepsAgent(steps)

        def run(self, task: Any, runtime: Any, oracle: Any) -> None:
            inner = self._inner
            inner.run(task, runtime, oracle)
            raise ZeroDivisionError

    trial.bench.prereg = trial.bench.prereg.model_copy(update={"clock": ClockKind.VIRTUAL})
    steps = bookings("book", 1)
    trial.bench.agent = lambda: Breaks(steps)
    result = run_trial(trial.scope, planned_row("blind_resend", TASK), 1, trial.path)
    assert result.void_reason == "ZeroDivisionError: "
    assert containers(engine, run) == ["running"]
    world: Any = trial.scope.world("stockroom")
    assert not world.host.standing
    assert world.entries() == (("book 1", True),) * 2
