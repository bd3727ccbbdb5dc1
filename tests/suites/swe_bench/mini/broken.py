"""Trials of shell suites in containers that are broken meanwhile."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hfr_bench import content, plugins
from hfr_bench.faults.audit import audit
from hfr_bench.lab.injecting import Nested
from hfr_bench.lab.trial import run_trial
from hfr_bench.model.attempt import Attempted, Decision
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.schedule import FaultEvent, Lasts
from hfr_bench.model.task import OracleStep
from hfr_bench.model.terms import Action
from hfr_bench.model.trace import TraceEvent
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import HostCommand, Sandbox
from hfr_bench.recovery.plain import Plain
from hfr_bench.suites.swe_bench.mini import SweMiniSuite, image
from hfr_bench.suites.swe_bench.mini.adapter import MiniWorld
from hfr_bench.suites.swe_bench.mini.repository import MiniRoom
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.rig import StepsAgent

TASK = "hfr__relay-1"
TOOL_US = 400_000
INDEX, PORT, NETWORK = "index", 8080, "packages"

# An index of one package, as pip knows it: a page of links, and a wheel behind the link.
_SERVES = """\
import http.server, io, sys, threading, zipfile
wheel = io.BytesIO()
with zipfile.ZipFile(wheel, "w") as file:
    file.writestr("tiny.py", "X = 1\\n")
class Index(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        page = b'<a href="/tiny-1-py3-none-any.whl">tiny</a>'
        self.wfile.write(page if self.path == "/simple/tiny/" else wheel.getvalue())
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("", 8080), Index)
threading.Thread(target=server.serve_forever, daemon=True).start()
for line in sys.stdin:
    print('{"id": 1, "ok": true}', flush=True)
"""
INSTALL = f"""\
echo tiny >> requirements.txt
python3 - <<'EOF'
import io, urllib.request as web, zipfile
def get(path):
    return web.urlopen("http://{INDEX}:{PORT}" + path, timeout=3).read()
link = get("/simple/tiny/").decode().split('"')[1]
zipfile.ZipFile(io.BytesIO(get(link))).extractall("vendored")
EOF"""


class Deaf(Plain):
    """Takes every failure for done: one attempt a step."""

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.ACCEPT, "what could go wrong")


class NetworkedSuite(SweMiniSuite):
    """swe_mini beside a container with packages in it, on a network of the run."""

    exposure = Exposure(frozenset(Breakage), "/sandbox", INDEX, PORT, "/sandbox/testbed")

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)
        argv = ("python3", "-I", "-S", "-c", _SERVES)
        serves = HostCommand(argv, image=image.image_spec(), network=NETWORK, alias=INDEX)
        sandbox.start(serves).request("ready", {}, 30)

    def open(self) -> MiniWorld:
        room = MiniRoom(self._sandbox, persists=True, network=NETWORK)
        world = MiniWorld(room, self._grader, self._timeout_s)
        world.exposure = self.exposure
        return world


class Ended:
    """One trial: its result, its trace and its audit."""

    def __init__(self, result: Any, path: Path, bench: "Bench") -> None:
        assert result.void is None, result.void_reason
        lines = path.read_text(encoding="utf-8").splitlines()
        self.result = result
        self.events = [TraceEvent.model_validate_json(line) for line in lines]
        plan = bench.schedule("x")
        self.audit = audit(self.events, plan, bench.kinds, tool_latency_us=TOOL_US)
        mismatched = tuple(one.mismatch for one in self.audit.deliveries if one.mismatch)
        self.wrong = (*mismatched, *self.audit.failed, *self.audit.untrue)

    @property
    def sums(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for one in self.audit.sums.values():
            found.update(scheduled=one.scheduled, reached=one.reached, delivered=one.delivered)
        return found

    def bodies(self, kind: str) -> list[Any]:
        return [event.body for event in self.events if event.body.type == kind]


class Bench(FakeBench):
    """A bench with the real suite and both injectors."""

    def __init__(
        self, suite: Any, faults: tuple[FaultEvent, ...], steps: Sequence[OracleStep]
    ) -> None:
        shop: Any = suite
        super().__init__(faults, lambda: StepsAgent(steps), {"deaf": Deaf}, shop=shop)
        self.kinds = content.kinds()
        made = [plugins.find("injectors", name)() for name in ("tool_calls", "environment")]
        self.tool_injector: Any = Nested(made)

    def task(self, suite: str, task_id: str) -> Any:
        (found,) = self.shop.select(SuiteSelection(suite=self.shop.name, tasks=(task_id,)))
        return found


class Trials:
    """One suite, one world; each call is a trial of one task."""

    def __init__(self, suite: Any, folder: Path, task: str = TASK) -> None:
        self.suite, self._folder, self._number, self._task = suite, folder, 0, task
        self._scope: Any = FakeScope(Bench(suite, (), ()))

    @property
    def world(self) -> Any:
        return self._scope.world(self.suite.name)

    def run(self, commands: Sequence[str], *faults: FaultEvent, arm: str = "deaf") -> Ended:
        self._number += 1
        steps = [OracleStep(actor="agent", tool="bash", arguments={"command": c}) for c in commands]
        self._scope.bench = Bench(self.suite, faults, steps)
        path = self._folder / f"{self._number}.jsonl"
        result = run_trial(self._scope, planned_row(arm, self._task), 1, path)
        return Ended(result, path, self._scope.bench)

    def said(self, command: str) -> str:
        """What a command says now."""
        done = self.world.execute(
            "bash", {"command": command}, actor="agent", operation_id="t.said"
        )
        return str(done.observation.body)


def fault(kind: str, occurrence: int = 1, *, n: int = 1, **fields: Any) -> FaultEvent:
    """At the n-th command."""
    spec = content.kinds()[kind]
    return FaultEvent(
        injection_id=f"{kind}/{occurrence}",
        layer=spec.layer,
        kind=kind,
        point="tool:bash",
        occurrence=occurrence,
        **{"lasts": Lasts(n=n), **fields},
    )
