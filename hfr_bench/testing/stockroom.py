"""A suite whose world is files in a shell host's container: one that can be broken from outside.

A stock book, a file an entry, which is written in two halves with work in between.

- `read_book` (R0): all entries
- `book` (R2): accumulates; a repeat books again
- `count` (R2): the same, and the work between the halves takes 150 MiB
- `quote` (R2): the same, and the second half is a price that another container is asked for

Entries are complete, half (the work did not end) or empty (there was no room): an entry that is not
complete tells that something was done, and not that it may be done again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hfr_bench.model.attempt import Observation
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.record import digest
from hfr_bench.model.task import (
    OracleStep,
    Probe,
    ReconcileContract,
    SealedTask,
    TaskSpec,
    ToolSpec,
)
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.model.trial import Grade
from hfr_bench.ports.exposure import Exposure, mark
from hfr_bench.ports.sandbox import FaultyHost, HostCommand, ImageSpec, Sandbox, ToolHost
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.shell.client import Shell, command
from hfr_bench.testing import halves
from hfr_bench.testing.shop import ShopUser, agent_step

SUITE = "stockroom"
IMAGE = ImageSpec("stockroom", "FROM base\n")
NETWORK, PEER, PORT = "stock", "prices", 8080
SCRATCH = "/tmp"  # noqa: S108 - inside the container
ENOUGH_S = 60.0
_SIGNALLED = 128

_WRITES = ("book", "count", "quote")
TOOLS = (
    ToolSpec(name="read_book", level=SideEffect.READ),
    *(
        ToolSpec(
            name=name,
            level=SideEffect.QUERYABLE,
            identity_args=("text",),
            reconcile=ReconcileContract(read="read_book", landed="booked", needs_before=True),
        )
        for name in _WRITES
    ),
)

_FIRST_HALF = """\
mkdir -p /tmp/book && cd /tmp/book || exit 1
file=$(printf %03d "$(ls | wc -l)")
echo "$1" >"$file" || exit 1
"""
_SCRIPTS = {
    "read_book": 'cd /tmp/book 2>/dev/null || exit 0; for f in *; do cat "$f"; echo --; done',
    "book": _FIRST_HALF + 'sleep "$2"; echo ok >>"$file"',
    "count": _FIRST_HALF
    + "python3 -c 'x = b\"x\" * (150 << 20)' || exit $?\n"
    + 'echo ok >>"$file"',
    "quote": _FIRST_HALF
    + "price=$(python3 -c 'import urllib.request as u;"
    + f' print(u.urlopen("http://{PEER}:{PORT}/", timeout=2).read().decode())'
    + "') || exit 1\n"
    + 'test -n "$price" && echo ok >>"$file"',
}
_LISTING = "cd /tmp/book 2>/dev/null || exit 0; stat -c '%n %s' * 2>/dev/null"
_PRICES = """\
import http.server, sys, threading
class Price(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"7")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("", 8080), Price)
threading.Thread(target=server.serve_forever, daemon=True).start()
for line in sys.stdin:
    print('{"id": 1, "ok": true}', flush=True)
"""


class StockWorld:
    """A book in a container. Implements `ports.suite.World` and `ports.exposure.Exposed`."""

    def __init__(self, suite: "StockSuite", host: ToolHost, others: Sequence[ToolHost]) -> None:
        self.exposure = suite.exposure
        self._suite = suite
        self._host = host
        self._shell = Shell(host)
        self._others = others
        self._listed: frozenset[str] = frozenset()
        self._task = ""

    @property
    def host(self) -> FaultyHost:
        host: Any = self._host
        made: FaultyHost = host
        return made

    def reset(self, task_id: str) -> str:
        self._task, self._listed = task_id, frozenset()
        return self._shell.reset()

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        given = [str(arguments.get("text", "")), str(self._suite.work_s)]
        argv = ["bash", "-c", _SCRIPTS[tool], SUITE, *given, mark(operation_id)]
        done = self._shell.exec(operation_id, argv, timeout_s=ENOUGH_S, kill_left=True)
        before, self._listed = self._listed, self._listing()
        code = 124 if done.exit_code is None else done.exit_code
        # What a shell says of a child that was killed names its number.
        said = "" if code > _SIGNALLED else done.stderr
        body = done.stdout if code == 0 else f"exit code {code}\n{said}"
        seen = Observation(
            answered=True,
            status=200,
            body=body,
            payload=body,
            domain_error=code != 0,
            exit_code=code,
        )
        return Execution(seen, tuple(sorted(self._listed - before)), digest(sorted(self._listed)))

    def user(self, task_id: str, act: UserAct) -> ShopUser:
        return ShopUser(self._suite.sealed(task_id), act)

    def grade(self, said: Sequence[str]) -> Grade:
        """Met if just what is wanted is booked, and nothing is half done."""
        wanted = Counter(
            str(step.arguments["text"])
            for step in self._suite.sealed(self._task).oracle
            if step.tool in _WRITES
        )
        entries = self.entries()
        booked = Counter(text for text, complete in entries if complete)
        met = booked == wanted and all(complete for _, complete in entries)
        return Grade(official=float(met), goal_met=met, state_digest=digest(sorted(self._listed)))

    def entries(self) -> tuple[tuple[str, bool], ...]:
        """What is in the book: the text, and whether the entry is complete."""
        done = self._shell.exec("look", ["bash", "-c", _SCRIPTS["read_book"]], timeout_s=ENOUGH_S)
        return entries(done.stdout)

    def close(self) -> None:
        self._shell.close()
        for other in self._others:
            other.close()

    def _listing(self) -> frozenset[str]:
        done = self._shell.exec("list", ["bash", "-c", _LISTING], timeout_s=ENOUGH_S)
        return frozenset(done.stdout.splitlines())


def entries(read: str) -> tuple[tuple[str, bool], ...]:
    """The book as `read_book` tells it: each text, and whether its entry is complete."""
    found = [part.split("\n") for part in read.split("--\n")[:-1]]
    return tuple((lines[0], lines[1:2] == ["ok"]) for lines in found)


class StockSuite:
    """Implements `ports.suite.Suite` and `ports.exposure.Bearing`.

    `tasks`: oracles by task id. `work_s`: how long a `book` works between its halves.
    `networked`: a second container answers for prices; without it nobody bears a partition.
    """

    name = SUITE

    def __init__(
        self,
        sandbox: Sandbox,
        tasks: Mapping[str, Sequence[OracleStep]],
        *,
        work_s: float = 0.0,
        networked: bool = False,
    ) -> None:
        self.work_s = work_s
        # Its book lies in memory, in no repository, and on no desktop.
        bears = frozenset(Breakage) - {Breakage.RESTART, Breakage.INDEX_LOCK}
        bears -= frozenset() if networked else {Breakage.PARTITION}
        self.exposure = Exposure(bears, SCRATCH, PEER, PORT)
        self.worlds: list[StockWorld] = []
        self._sandbox = sandbox
        self._networked = networked
        self._sealed = {task_id: sealed(task_id, steps) for task_id, steps in tasks.items()}

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        return tuple(task(task_id) for task_id in selection.tasks or self._sealed)

    def select_all(self) -> tuple[TaskSpec, ...]:
        """All tasks, in order."""
        return tuple(task(task_id) for task_id in self._sealed)

    def add(self, task_id: str, steps: Sequence[OracleStep]) -> None:
        """Offer one more task, or another one by that name."""
        self._sealed[task_id] = sealed(task_id, steps)

    def sealed(self, task_id: str) -> SealedTask:
        return self._sealed[task_id]

    def pin(self, selection: SuiteSelection) -> SourcePin:
        tasks = self.select(selection)
        return SourcePin(
            suite=SUITE,
            distribution="hfr-bench",
            version="test",
            content_digest=digest([tool.model_dump(mode="json") for tool in TOOLS]),
            tasks=tuple(one.task_id for one in tasks),
            task_digests={one.task_id: one.source_digest for one in tasks},
        )

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        """A complete entry more is a booking; one that is not complete leaves it open."""
        if before is None or after is None:
            return Landed.UNKNOWN
        text, was, now = arguments["text"], entries(before), entries(after)
        if now.count((text, True)) > was.count((text, True)):
            return Landed.COMMITTED
        return Landed.ABSENT if len(now) == len(was) else Landed.UNKNOWN

    def probes(self) -> tuple[Probe, ...]:
        return ()

    def open(self) -> StockWorld:
        shell, others = command(IMAGE), []
        if self._networked:
            others = [self._sandbox.start(_prices())]
            shell = replace(shell, network=NETWORK, alias="shell")
        world = StockWorld(self, self._sandbox.start(shell), others)
        self.worlds.append(world)
        return world

    def close(self) -> None:
        for world in self.worlds:
            world.close()


def _prices() -> HostCommand:
    argv = ("python3", "-I", "-S", "-c", _PRICES)
    return HostCommand(argv, image=IMAGE, network=NETWORK, alias=PEER)


def bookings(tool: str, n: int) -> tuple[OracleStep, ...]:
    """So many different bookings with one tool."""
    return tuple(agent_step(tool, text=f"{tool} {number}") for number in range(1, n + 1))


def task(task_id: str, deadline_s: float = 3600.0) -> TaskSpec:
    """The public half: the same tools for every task."""
    return halves.public(SUITE, task_id, "Keep the book.", TOOLS, deadline_s)


def sealed(task_id: str, steps: Sequence[OracleStep]) -> SealedTask:
    """The sealed half: the bookings of the oracle are the expected effects."""
    return halves.sealed(SUITE, task_id, "Please book.", TOOLS, steps)
