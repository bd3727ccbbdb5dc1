"""Pulled, the switch lets no fault through and no trial be graded; and where injection never is."""

import os
import platform
import signal
import threading
from dataclasses import replace

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.injectors.gateway import GatewayInjector
from hfr_bench.lab import runlog
from hfr_bench.lab.clock import WallClock
from hfr_bench.lab.killswitch import (
    InjectionStopped,
    InjectionStoppedError,
    KillSwitch,
    Stopped,
    check_contained,
    check_ours,
    stop,
)
from hfr_bench.lab.runlock import only_one
from hfr_bench.lab.trial import InterruptedTrialError, run_trial
from hfr_bench.model.invocation import Invocation
from hfr_bench.model.schedule import KindSpec, Lasts, Stall
from hfr_bench.model.terms import Layer
from hfr_bench.owner import this_process
from hfr_bench.ports.injector import Scene
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.fakes import FakeClock, FakeGateway
from hfr_bench.testing.hosts import FakeSandbox
from hfr_bench.testing.rig import KINDS, fault, lost_answer

HOST_KIND = KindSpec(kind="disk_full", layer=Layer.ENVIRONMENT, wire={"host": Stall(stall_s=1)})


def scene(*events) -> Scene:
    return Scene("t1", Cursor(events), KINDS, FakeClock(), lambda _: None)


def asked(made: Scene, attempt: int = 1):
    return made.cursor.at("tool:add_order", 1, attempt, target="m", now_us=0)


# -- what it does to injection --------------------------------------------------------------------


def test_no_fault_comes_once_it_is_pulled_not_even_one_that_had_begun():
    switch, event = KillSwitch(), fault("busy", "tool:add_order", n=5)
    made = switch.scene(scene(event.model_copy(update={"lasts": Lasts(unit="trial")})))
    assert asked(made) is not None
    switch.pull()
    assert asked(made, 2) is None


def test_until_then_the_cursor_is_the_one_it_was():
    event = lost_answer("add_order")
    plain = scene(event)
    made = KillSwitch().scene(plain)
    assert asked(made) == event
    assert made.cursor.events == plain.cursor.events
    assert replace(made, cursor=plain.cursor) == plain


class SwitchBench(FakeBench):
    """A bench whose injectors heed a switch, as the real one's."""

    def __init__(self, **parts) -> None:
        super().__init__(**parts)
        self.switch = KillSwitch()
        self.interrupted = self.switch.event
        self.inner = self.gateway
        self.inner.start("http://127.0.0.1:1")
        self.gateway = self.switch.wire(self.inner)
        self.tool_injector = self.switch.calls(self.tool_injector)


class PullsAt:
    """An agent that pulls the switch before it begins, and goes on as if nothing were."""

    needs_oracle = True

    def __init__(self, bench, inner) -> None:
        self._bench, self._inner = bench, inner

    def run(self, task, runtime, oracle) -> None:
        self._bench().switch.pull()
        self._inner.run(task, runtime, oracle)


def test_a_trial_at_work_is_neither_graded_nor_void(tmp_path):
    bench = SwitchBench(faults=(lost_answer("add_order"),))
    plain = bench.agent
    bench.agent = lambda: PullsAt(lambda: bench, plain())
    path = tmp_path / "a.jsonl"
    with pytest.raises(InterruptedTrialError):
        run_trial(FakeScope(bench), planned_row("blind_resend"), 1, path)
    assert not path.exists()
    assert path.with_name("a.jsonl.part").exists()
    assert b"fault_injected" not in path.with_name("a.jsonl.part").read_bytes()
    assert bench.inner.left == ["blind_resend-t"]  # healed all the same


def test_the_same_trial_without_it_is_graded(tmp_path):
    bench = SwitchBench(faults=(lost_answer("add_order"),))
    path = tmp_path / "a.jsonl"
    result = run_trial(FakeScope(bench), planned_row("blind_resend"), 1, path)
    assert result.outcome is not None
    assert result.outcome.duplicates == 1
    assert b"fault_injected" in path.read_bytes()


def test_no_trial_is_let_in_any_more():
    switch = KillSwitch()
    wire = switch.wire(FakeGateway())
    wire.start("http://127.0.0.1:1/v1")
    switch.pull()
    with pytest.raises(InjectionStoppedError):
        wire.enter(scene())


def test_a_stall_at_the_real_gateway_ends_at_once():
    """On the wall clock a stalled request would be waited for; healed, its client hears of it."""
    httpx = pytest.importorskip("httpx")
    switch = KillSwitch()
    wire = switch.wire(GatewayInjector())
    wire.start("http://127.0.0.1:1/v1")
    kinds = {
        "hang": KindSpec(kind="hang", layer=Layer.MODEL, wire={"openai_chat": Stall(stall_s=600)})
    }
    event = fault("hang", "model:agent").model_copy(update={"layer": Layer.MODEL})
    event = event.model_copy(update={"effect_lands": None})
    stalls = threading.Event()
    url = wire.enter(Scene("t1", Cursor((event,)), kinds, WallClock(), lambda _: stalls.set()))
    broke = []

    def call():
        try:
            httpx.post(f"{url}/chat/completions", json={"model": "m"}, timeout=300)
        except httpx.HTTPError as error:
            broke.append(error)

    client = threading.Thread(target=call)
    client.start()
    assert stalls.wait(60)
    assert client.is_alive()
    switch.pull()
    switch.heal()
    client.join(60)
    assert not client.is_alive()
    assert broke
    with pytest.raises(InjectionStoppedError, match="was at work"):
        wire.leave("t1")
    wire.leave("t1")
    wire.stop()


# -- the signal -----------------------------------------------------------------------------------


def test_the_signal_pulls_it_and_ends_the_work_at_hand():
    told = []
    switch = KillSwitch(told.append)
    switch.arm()
    try:
        with pytest.raises(InjectionStopped):
            signal.raise_signal(signal.SIGUSR1)
        assert switch.pulled
        assert "no further fault" in told[0]
        assert switch.why == "kill switch (SIGUSR1)"
        signal.raise_signal(signal.SIGUSR1)  # once more: nothing is broken into
    finally:
        switch.disarm()
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


def test_somebody_else_s_handler_stays():
    def mine(*_):
        pass

    signal.signal(signal.SIGUSR1, mine)
    try:
        switch = KillSwitch()
        switch.arm()
        assert signal.getsignal(signal.SIGUSR1) is mine
        switch.disarm()
        assert signal.getsignal(signal.SIGUSR1) is mine
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)


def test_no_other_thread_arms_it():
    thread = threading.Thread(target=KillSwitch().arm)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


# -- from another process -------------------------------------------------------------------------


def invocation(owner: str, **fields) -> Invocation:
    return Invocation(
        at="", owner=owner, harness_version="0", sandbox="process", workers=1,
        durability="process", **fields,
    )  # fmt: skip


def test_without_a_run_there_is_nothing_to_stop(tmp_path):
    assert stop(tmp_path) == Stopped(0, ended=True)
    runlog.append(tmp_path, invocation(this_process()))  # killed: its line has no end
    assert stop(tmp_path) == Stopped(0, ended=True)
    with pytest.raises(BadInputError, match="no such directory"):
        stop(tmp_path / "x")


def test_a_run_on_another_machine_is_named(tmp_path):
    runlog.append(tmp_path, invocation("elsewhere/boot/77/1"))
    with only_one(tmp_path), pytest.raises(BadInputError, match="elsewhere; there: kill -USR1 77"):
        stop(tmp_path)


@pytest.mark.parametrize("line", [None, {"end": "done"}, {"owner": "gone"}])
def test_who_holds_the_directory_without_a_run_is_not_signalled(tmp_path, line):
    gone = f"{platform.node()}/another-boot/{os.getpid()}/1"
    if line is not None:
        owner = gone if line.pop("owner", "") else this_process()
        runlog.append(tmp_path, invocation(owner, **line))
    with only_one(tmp_path), pytest.raises(BadInputError, match="no run of it is to be found"):
        stop(tmp_path, wait_s=0.1)


# -- blast radius ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:80/v1", "http://localhost:1/v1", "http://[::1]:1/v1", "http://127.9.9.9"],
)
def test_loopback_is_ours(url):
    check_ours(url, "x")


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1", "http://10.0.0.1/v1", "http://0.0.0.0:1/v1", "", "fake://up",
        "http://127.0.0.1.example.com/v1", "http://localhost@example.com/v1", "127.0.0.1:80",
    ],
)  # fmt: skip
def test_nothing_else_is(url):
    with pytest.raises(BadInputError, match="not ours"):
        check_ours(url, "the model server")


def test_a_wire_injector_is_held_to_it_on_both_sides():
    wire = KillSwitch().wire(FakeGateway())
    with pytest.raises(BadInputError, match="model server is at 'https://api"):
        wire.start("https://api.openai.com/v1")
    inner = FakeGateway()
    wire = KillSwitch().wire(inner)
    wire.start("http://127.0.0.1:1/v1")
    assert wire.enter(scene()).startswith("http://127.0.0.1")
    wire.leave("t1")
    inner.start("http://10.0.0.1")  # it turns elsewhere behind our back
    with pytest.raises(BadInputError, match=r"the injector is at 'http://10"):
        wire.enter(scene())
    assert not inner.scenes


def test_what_is_done_to_a_machine_needs_a_container():
    kinds = KINDS | {"disk_full": HOST_KIND}
    bare, boxed = FakeSandbox(), FakeSandbox()
    boxed.contained = True
    check_contained(kinds, ["disk_full", "lost"], [boxed])
    check_contained(kinds, ["runtime_crash", "lost", "unknown"], [bare])
    with pytest.raises(BadInputError, match="'disk_full' is made in the tools' own machine"):
        check_contained(kinds, ["lost", "disk_full"], [boxed, bare])
