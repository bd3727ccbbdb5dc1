"""What a plug must do, as functions that raise ConformanceError; for plugin authors' tests.

def test_my_strategy():
    check_strategy(lambda: MyStrategy({}, Kit(equipment=Equipment(ledger=True, query=True))))
"""

import threading
import time
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import cast

from hfr_bench.errors import HfrError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.shape import answers, declared, wire
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.effects import Boundary
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.schedule import FaultEvent, KindSpec, Lasts, Respond
from hfr_bench.model.task import OracleStep, TaskSpec
from hfr_bench.model.terms import Channel, Landed
from hfr_bench.model.trace import Body, FaultInjected
from hfr_bench.ports.injector import CallInjector, Scene
from hfr_bench.ports.sandbox import (
    HostCommand,
    HostDiedError,
    HostRefusedError,
    HostTimeoutError,
    Sandbox,
    ToolHost,
)
from hfr_bench.ports.strategy import Sharing, Strategy
from hfr_bench.ports.suite import Committed, Suite, World
from hfr_bench.recovery.ledger import LedgerConflictError
from hfr_bench.testing import walk
from hfr_bench.testing.fakes import FakeClock, FakePort, fine
from hfr_bench.testing.hosts import echo_command

DIALECT = "tool"
_SOON_S = 25.0  # on a busy machine; what is not soon at all takes longer


class ConformanceError(HfrError, AssertionError):
    """The plug does not do what its socket promises; the message says where."""


def check_strategy(
    factory: Callable[[], Strategy],
    walks: int = 50,
    seed: int = 0,
    *,
    safe: bool = False,
    defects: bool = False,
) -> int:
    """Lead a strategy through generated event sequences; returns the number of decisions.

    Each walk is taken twice by strategies of their own, the second one with its state written out
    and read back before every decision. It must decide the same, keep its hands off the state it
    is given, keep a state that is JSON, decide only what can be done, and come to an end. What a
    `Sharing` strategy hands on in cohorts is held to the same.
    `safe`: it must also never send an R2 or R3 write again that may have landed. `defects`: it may
    have some, and decide on them as §4.1 of the paper says (`recovery.guarded`).
    """
    asked = 0
    for number in range(walks):
        key = (seed, number)
        try:
            first, second = (
                walk.decisions(factory(), key, reload=again, safe=safe, defects=defects)
                for again in (False, True)
            )
        except (walk.BrokenRuleError, LedgerConflictError) as error:
            raise ConformanceError(f"walk {key}: {error}") from error
        if first != second:
            pairs = zip_longest(first, second)
            at, pair = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
            raise ConformanceError(
                f"walk {key}, decision {at}: not deterministic, or not all of its state is in its "
                f"JSON: first {pair[0]}, then {pair[1]}"
            )
        asked += len(first)
    return asked + (_check_sharing(factory, walks // 5, seed) if walks >= 5 else 0)


def _check_sharing(factory: Callable[[], Strategy], cohorts: int, seed: int) -> int:
    """Cohorts of four walks, where the strategy has state to share: as each walk, taken twice."""
    if not isinstance(factory(), Sharing):
        return 0
    made = cast("Callable[[], Sharing]", factory)
    asked = 0
    for number in range(cohorts):
        keys = [(seed, 4 * number + place) for place in range(4)]
        try:
            first, second = (walk.cohort(made, keys, reload=again) for again in (False, True))
        except (walk.BrokenRuleError, LedgerConflictError) as error:
            raise ConformanceError(f"cohort {number}: {error}") from error
        if first != second:
            raise ConformanceError(
                f"cohort {number}: not deterministic, or not all that it shares is in its JSON"
            )
        asked += len(first)
    return asked


def check_suite(suite: Suite, selection: SuiteSelection) -> None:
    """Reset brings every task back; its oracle runs and satisfies the checker; reads only read.

    A suite that makes its tasks of a seed makes the same ones of the seed alone; `selection` has
    the other settings that it was made with.
    """
    tasks = suite.select(selection)
    _require(bool(tasks), "the selection is empty")
    _require(len({task.task_id for task in tasks}) == len(tasks), "a task is selected twice")
    _require(suite.pin(selection) == suite.pin(selection), "two pins of one suite differ")
    if isinstance(suite, Committed):
        again = type(suite).regrown(suite.seed, selection)
        same = (again.pin, again.tasks) == (suite.pin(selection), tasks)
        _require(same, "its seed alone gives other tasks, or another pin")
    world = suite.open()
    try:
        for task in tasks:
            _check_task(suite, world, task)
    finally:
        world.close()


def _check_task(suite: Suite, world: World, task: TaskSpec) -> None:
    name, sealed = task.task_id, suite.sealed(task.task_id)
    _require(sealed.task_id == name, f"{name}: its sealed half is of {sealed.task_id}")
    offered = {tool.name for tool in task.tools}
    for tool in task.tools:
        contract = tool.reconcile
        _require(
            contract is None or contract.read in offered,
            f"{name}: the contract of {tool.name} reads with a tool that is not offered",
        )
    initial = world.reset(name)
    _require(world.reset(name) == initial, f"{name}: two resets give different states")
    for step in sealed.oracle:
        _check_step(suite, world, task, step)
    grade = world.grade(sealed.say)
    _require(grade.goal_met, f"{name}: the oracle does not satisfy the checker")
    _require(world.reset(name) == initial, f"{name}: reset does not undo the oracle")


def _check_step(suite: Suite, world: World, task: TaskSpec, step: OracleStep) -> None:
    """Carry out one step; around a write with a contract, ask whether it landed."""
    spec = task.tool(step.tool) if step.actor == "agent" else None
    where = f"{task.task_id}, {step.tool}"
    contract = spec.reconcile if spec else None

    def read() -> str | None:
        assert contract is not None
        filled = {
            key: step.arguments.get(value[1:]) if str(value)[:1] == "$" else value
            for key, value in contract.arguments.items()
        }
        done = world.execute(contract.read, filled, actor="strategy", operation_id="read")
        _require(not done.changed, f"{where}: its reconcile read changed the world")
        return done.observation.body

    before = read() if contract else None
    done = world.execute(step.tool, step.arguments, actor=step.actor, operation_id="oracle")
    if spec is not None and not spec.level.writes:
        _require(not done.changed, f"{where}: registered as a read, but changed {done.changed}")
    if contract and done.changed:
        known = before if contract.needs_before else None
        missing = suite.landed(contract.landed, known, before, step.arguments)
        landed = suite.landed(contract.landed, known, read(), step.arguments)
        _require(missing is not Landed.COMMITTED, f"{where}: confirmed before it ran")
        _require(landed is not Landed.ABSENT, f"{where}: denied after it ran")


def check_sandbox(
    sandbox: Sandbox, command: HostCommand | None = None, patience_s: float = 0.3
) -> None:
    """Start hosts of `hosts.ECHO_HOST`: they answer, refuse, hang, die and are ended.

    The sandbox is closed at the end, once while a host owes an answer.
    """
    command = command or echo_command()
    host = sandbox.start(command)
    for text in ("one", "two", "ünï\n"):
        _require(host.request("echo", {"text": text}, 30)["said"] == text, "echo: another answer")
    _raises(HostRefusedError, lambda: host.request("nonsense", {}, 30), "an unknown op")
    _require(host.request("echo", {"text": "still"}, 30)["said"] == "still", "a refusal kills it")
    began = time.monotonic()
    _raises(HostTimeoutError, lambda: host.request("hang", {}, patience_s), "a host that hangs")
    _require(time.monotonic() - began < patience_s + _SOON_S, "a timeout takes far too long")
    _raises(HostDiedError, lambda: host.request("echo", {"text": "x"}, 1), "a killed host")
    other = sandbox.start(command)
    _raises(HostDiedError, lambda: other.request("die", {}, 30), "a host that dies")
    _require(sandbox.contained == (sandbox.image_id is not None), "contained, without an image")
    living = sandbox.start(command)
    living.request("echo", {"text": "x"}, 30)
    _require(sandbox.reap() == (), "reap finds something although every owner lives")
    _require(living.request("echo", {"text": "y"}, 30)["said"] == "y", "reap ends the living")
    _check_interrupt(living.close, living, "closing a host")
    last, waiting = sandbox.start(command), sandbox.start(command)
    last.request("echo", {"text": "x"}, 30)
    _check_interrupt(sandbox.close, waiting, "closing the sandbox")
    for _ in range(2):
        last.close()
        sandbox.close()
    _raises(HostDiedError, lambda: last.request("echo", {"text": "x"}, 1), "a closed host")
    _raises(HostDiedError, lambda: sandbox.start(command), "a start after close")


def _check_interrupt(close: Callable[[], None], waiting: ToolHost, what: str) -> None:
    """Closing from another thread ends a request that waits for its answer, at once."""
    waiting.request("echo", {"text": "x"}, 30)
    timer = threading.Timer(0.05, close)
    began = time.monotonic()
    timer.start()
    _raises(HostDiedError, lambda: waiting.request("hang", {}, 30), f"{what} during a request")
    _require(time.monotonic() - began < _SOON_S, f"{what} leaves a request waiting")
    timer.join()


def check_injector(injector: CallInjector, specs: Mapping[str, KindSpec]) -> None:
    """Every kind it answers for is seen as declared, lands as planned, and hits nothing else.

    Left out are kinds whose effect needs more than one call (`model.effects`): whether they were
    delivered can only be told from a whole trial, which the delivery audit does.
    """
    _require(injector.kinds() <= set(specs), "it answers for kinds that are not given")
    for name in sorted(injector.kinds()):
        kind = specs[name]
        if isinstance(kind.wire.get(DIALECT), Boundary):
            continue
        for lands in (None,) if kind.lands is None else (True, False):
            _check_kind(injector, specs, kind, lands)
    for _ in range(2):
        injector.heal()


def _check_kind(
    injector: CallInjector, specs: Mapping[str, KindSpec], kind: KindSpec, lands: bool | None
) -> None:
    event = FaultEvent(
        injection_id="check",
        layer=kind.layer,
        kind=kind.kind,
        point="tool:x",
        occurrence=2,
        lasts=Lasts(),
        effect_lands=lands,
        params={name: values[0] for name, values in kind.params.items()},
    )
    told: list[Body] = []
    world = FakePort(lambda _: fine("real"))
    scene = Scene("check", Cursor([event]), specs, FakeClock(), told.append)
    port = injector.wrap(world, scene)
    where = f"kind {kind.kind}" + ("" if lands is None else f", lands {lands}")
    for occurrence, attempt in ((1, 1), (2, 1), (2, 2), (3, 1)):
        world.asked.clear()
        told.clear()
        seen = port.attempt(_call(occurrence, attempt))
        if (occurrence, attempt) == (2, 1):
            _check_seen(seen, event, kind, len(world.asked), where)
            ids = [body.injection_id for body in told if isinstance(body, FaultInjected)]
            _require(ids == ["check"], f"{where}: told {ids} of one injection")
        else:
            _require(seen.body == "real", f"{where}: hit attempt {occurrence}.{attempt} as well")
            _require(not told, f"{where}: told of an injection where there was none")


def _check_seen(
    seen: Observation, event: FaultEvent, kind: KindSpec, calls: int, where: str
) -> None:
    effect = wire(event, kind, DIALECT)
    shape = declared(event, kind, DIALECT, _call(1, 1).timeout_us)
    silent = answers(effect)
    was = "answered" if seen.answered else "not answered"
    _require(seen.answered is silent, f"{where}: the attempt was {was}")
    _require(not silent or seen.body != "real", f"{where}: the true answer came through")
    _require(seen.exception == shape.exception, f"{where}: seen {seen.exception}")
    if isinstance(effect, Respond):
        _require(seen.status == effect.status, f"{where}: seen status {seen.status}")
        _require(seen.body == effect.body, f"{where}: seen body {seen.body!r}")
    forwarded = int(not isinstance(effect, Respond) and effect.forward)
    _require(calls == forwarded, f"{where}: the world was called {calls} times, not {forwarded}")


def _call(occurrence: int, attempt: int) -> Call:
    return Call(
        step=occurrence,
        point="tool:x",
        occurrence=occurrence,
        attempt=attempt,
        channel=Channel.TOOL,
        target="x",
        timeout_us=10_000_000,
        payload={},
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConformanceError(message)


def _raises(kind: type[Exception], action: Callable[[], object], what: str) -> None:
    try:
        action()
    except kind:
        return
    except Exception as error:
        raise ConformanceError(
            f"{what}: {type(error).__name__} instead of {kind.__name__}"
        ) from error
    raise ConformanceError(f"{what}: no {kind.__name__}")
