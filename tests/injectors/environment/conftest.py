"""Trials in the stock room: a world of files in a real container, broken while the trial runs."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import content, plugins
from hfr_bench.faults.audit import TrialAudit, audit
from hfr_bench.lab.injecting import Nested
from hfr_bench.lab.trial import run_trial
from hfr_bench.model.attempt import Attempted, Decision
from hfr_bench.model.schedule import FaultEvent, KindSpec, Lasts
from hfr_bench.model.task import OracleStep
from hfr_bench.model.terms import Action
from hfr_bench.model.trace import HostLooked, TraceEvent
from hfr_bench.model.trial import TrialResult
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Sandbox, SandboxContext
from hfr_bench.recovery.plain import Plain
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.rig import StepsAgent
from hfr_bench.testing.stockroom import StockSuite

TASK = "stockroom/t"
TOOL_US = 400_000


class Deaf(Plain):
    """Takes every failure for done: one attempt a step, and never a call to a person."""

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.ACCEPT, "what could go wrong")


class Ended:
    """One trial: its result, its trace, and the audit of it."""

    def __init__(
        self,
        result: TrialResult,
        events: Sequence[TraceEvent],
        faults: Sequence[FaultEvent],
        kinds: dict[str, KindSpec],
        tool_us: int | None,
    ) -> None:
        self.result, self.events = result, events
        plan = FakeBench(tuple(faults)).schedule("x")
        self.audit: TrialAudit = audit(events, plan, kinds, tool_latency_us=tool_us)

    @property
    def sums(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for one in self.audit.sums.values():
            found.update(scheduled=one.scheduled, reached=one.reached, delivered=one.delivered)
        return found

    @property
    def wrong(self) -> tuple[str, ...]:
        """Whatever speaks against the trial."""
        mismatched = tuple(one.mismatch for one in self.audit.deliveries if one.mismatch)
        return (*mismatched, *self.audit.failed, *self.audit.untrue)

    def bodies(self, kind: str) -> list[Any]:
        return [event.body for event in self.events if event.body.type == kind]

    def looks(self, when: str) -> list[HostLooked]:
        return [body for body in self.bodies("host") if body.when == when]


def fault(kind: str, point: str, occurrence: int = 1, *, n: int = 1, **fields: Any) -> FaultEvent:
    spec = content.kinds()[kind]
    return FaultEvent(
        injection_id=f"{kind}/{point}/{occurrence}",
        layer=spec.layer,
        kind=kind,
        point=point,
        occurrence=occurrence,
        **{"lasts": Lasts(n=n), **fields},
    )


class Room:
    """One suite on one long-lived host; `run` runs a trial in it."""

    def __init__(self, sandbox: Sandbox, tmp_path: Path, **suite: Any) -> None:
        self.sandbox, self._folder = sandbox, tmp_path
        self.suite = StockSuite(sandbox, {}, **suite)
        self.kinds = dict(content.kinds())
        shop: Any = self.suite
        self.scope = FakeScope(FakeBench(shop=shop))

    def run(
        self,
        steps: Sequence[OracleStep],
        faults: Iterable[FaultEvent],
        arm: str | type[Plain] = Deaf,
        *,
        again: int = 0,
        **prereg: Any,
    ) -> Ended:
        planned = tuple(faults)
        own = {} if isinstance(arm, str) else {"mutant": arm}
        name = arm if isinstance(arm, str) else "mutant"
        self.suite.add(TASK, steps)
        agent = lambda: StepsAgent(steps, again=again)  # noqa: E731
        shop: Any = self.suite
        bench = FakeBench(planned, agent, own, shop=shop, **prereg)
        bench.kinds = self.kinds
        bench.tool_injector = Nested(
            [plugins.find("injectors", one)(self.kinds) for one in ("tool_calls", "environment")]
        )
        self.scope.bench = bench
        self._folder.mkdir(exist_ok=True)
        path = self._folder / f"{len(list(self._folder.iterdir()))}.jsonl"
        result = run_trial(self.scope, planned_row(name, TASK), 1, path)  # type: ignore[arg-type]
        assert result.void is None, result.void_reason
        lines = path.read_text(encoding="utf-8").splitlines()
        read = [TraceEvent.model_validate_json(line) for line in lines]
        virtual = prereg.get("clock") != "wall"
        return Ended(result, read, planned, self.kinds, TOOL_US if virtual else None)

    @contextmanager
    def striking(self, kind: str, after_ms: int, work_s: float) -> Iterator[None]:
        """A kind that strikes so long after a process has begun, which works so long."""
        spec, usual_s = self.kinds[kind], self.suite.work_s
        host = spec.wire["host"].model_copy(update={"after_ms": after_ms})
        self.kinds[kind] = spec.model_copy(update={"wire": {"host": host}})
        self.suite.work_s = work_s
        yield
        self.kinds[kind], self.suite.work_s = spec, usual_s

    @property
    def world(self) -> Any:
        return self.scope.world("stockroom")


@pytest.fixture(scope="module")
def docker() -> Iterator[Sandbox]:
    context = SandboxContext(f"test{secrets.token_hex(6)}", this_process())
    made: Sandbox = plugins.find("sandboxes", "docker")(context)
    yield made
    made.close()


@pytest.fixture(scope="module")
def make_room(docker: Sandbox, tmp_path_factory: Any) -> Callable[..., Room]:
    def make(**suite: Any) -> Room:
        return Room(docker, tmp_path_factory.mktemp("room") / "traces", **suite)

    return make


@pytest.fixture(scope="module")
def room(make_room: Callable[..., Room]) -> Room:
    """A room whose work takes long enough to be struck in its midst."""
    return make_room(work_s=0.5, networked=True)
