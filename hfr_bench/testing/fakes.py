"""A fake for every small port, driven by a plain list or function; each tells what it was asked.

A *script* is an iterable of answers, given one by one (running out is an AssertionError that says
so), or a function of the question.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from hfr_bench.model.attempt import Call, Decision, Observation, StrategyEvent
from hfr_bench.model.ledger import Checkpoint, EscalationPacket, LedgerEntry, Reservation
from hfr_bench.model.task import SealedTask, TaskSpec
from hfr_bench.model.terms import ClockKind, Origin
from hfr_bench.model.trace import Body, TraceEvent
from hfr_bench.ports.agent import Message, ModelReply, Oracle, Runtime, ToolReply, ToolRequest
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.clock import Clock
from hfr_bench.ports.human import Approval, Question
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.llm import ModelScope
from hfr_bench.ports.strategy import StrategyState
from hfr_bench.ports.summarizer import Ask
from hfr_bench.ports.user import UserTurn
from hfr_bench.recovery.ledger import LedgerConflictError, check_move

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Scope = TypeVar("Scope")
Item = TypeVar("Item")

Coordinate = tuple[str, int, int]
"""Point, occurrence, attempt."""


class Script(Generic[Asked, Answer]):
    """Answers from a list or a function; `asked` keeps the questions."""

    def __init__(self, answers: Iterable[Answer] | Callable[[Asked], Answer]) -> None:
        self.asked: list[Asked] = []
        self._answer: Callable[[Asked], Answer]
        if callable(answers):
            self._answer = answers
        else:
            left = iter(answers)
            self._answer = lambda asked: self._next(left, asked)

    def __call__(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        return self._answer(asked)

    def _next(self, left: Iterator[Answer], asked: Asked) -> Answer:
        for answer in left:
            return answer
        raise AssertionError(f"the script has no answer {len(self.asked)}; asked was {asked!r}")


def fine(body: str = '{"ok": true}', **fields: Any) -> Observation:
    """An answered attempt."""
    return Observation(answered=True, status=200, body=body, payload=body, **fields)


def refused(status: int = 500, body: str = "", **headers: str) -> Observation:
    """An error answer; headers by name, `_` for `-` (`retry_after="2"`)."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Observation(answered=False, status=status, body=body, headers=named)


def lost(exception: str = "Timeout", *, sent: bool = True) -> Observation:
    """No answer at all."""
    return Observation(answered=False, exception=exception, sent=sent)


@dataclass
class FakeClock:
    """Moves when told. `waits`: every wait, in order."""

    kind: ClockKind = ClockKind.VIRTUAL
    us: int = 0
    waits: list[int] = field(default_factory=list)

    def now_us(self) -> int:
        return self.us

    def wait(self, us: int) -> None:
        if us < 0:
            raise ValueError(f"time does not run backwards: {us} µs")
        self.waits.append(us)
        self.us += us


class FakePort(Script[Call, Observation]):
    """A CallPort: answers attempts from a script."""

    def attempt(self, call: Call) -> Observation:
        return self(call)


class FakeModel(FakePort):
    """A model behind a CallPort."""

    @staticmethod
    def says(text: str, *calls: tuple[str, str]) -> Observation:
        """A chat answer: text, and tool calls as (name, raw JSON arguments)."""
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": raw}}
                for n, (name, raw) in enumerate(calls)
            ]
        return Observation(answered=True, status=200, body=text, payload=message)


class ListSink:
    """A Sink that keeps whole trace events (without hashes)."""

    def __init__(self, clock: Clock | None = None, trial_id: str = "trial") -> None:
        self.events: list[TraceEvent] = []
        self._clock = clock or FakeClock()
        self._trial_id = trial_id

    def write(self, body: Body, *, step: int = 0, attempt: int = 0) -> None:
        self.events.append(
            TraceEvent(
                trial_id=self._trial_id,
                seq=len(self.events) + 1,
                t_us=self._clock.now_us(),
                step=step,
                attempt=attempt,
                body=body,
            )
        )

    @property
    def bodies(self) -> list[Body]:
        return [event.body for event in self.events]

    def of(self, kind: type[Answer]) -> list[Answer]:
        """The bodies of one kind, in order."""
        return [body for body in self.bodies if isinstance(body, kind)]


class FakeUser:
    """Opens with `opening`, then says the given lines; the last one ends the talk."""

    def __init__(self, opening: str = "hello", replies: Sequence[str] = ("bye",)) -> None:
        self.heard: list[str] = []
        self._opening = opening
        self._replies = list(replies)

    def open(self) -> UserTurn:
        return UserTurn(self._opening, over=not self._replies)

    def reply(self, text: str) -> UserTurn:
        self.heard.append(text)
        if not self._replies:
            return UserTurn("", over=True)
        return UserTurn(self._replies.pop(0), over=not self._replies)


@dataclass
class FakeHuman:
    """Takes every escalation at a price; keeps the packets. Approves what `approves` does."""

    cost_microusd: int = 20_000
    delay_us: int = 10_000_000
    packets: list[EscalationPacket] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    approves: Callable[[Question], bool] = lambda _: True

    def take(self, packet: EscalationPacket) -> tuple[int, int]:
        self.packets.append(packet)
        return self.cost_microusd, self.delay_us

    def review(self, question: Question) -> Approval:
        self.questions.append(question)
        why = () if (passed := self.approves(question)) else ("a person refused it",)
        return Approval(passed, self.cost_microusd, self.delay_us, why)


class FakeLedger:
    """A Ledger. `applied`: each transaction. `fail`: refuse the next one, as a conflict."""

    def __init__(self) -> None:
        self.applied: list[tuple[Reservation, tuple[LedgerEntry, ...]]] = []
        self.fail = False
        self._entries: dict[str, LedgerEntry] = {}

    def apply(self, debit: Reservation, entries: Sequence[LedgerEntry]) -> None:
        if self.fail:
            raise LedgerConflictError("somebody else moved it")
        for entry in entries:
            known = self._entries.get(entry.key)
            check_move(known.state if known else None, entry.state)
        self.applied.append((debit, tuple(entries)))
        self._entries |= {entry.key: entry for entry in entries}

    def get(self, key: str) -> LedgerEntry | None:
        return self._entries.get(key)

    def entries(self) -> tuple[LedgerEntry, ...]:
        return tuple(self._entries.values())

    def debited(self, step: int | None = None) -> Reservation:
        mine = [debit for debit, _ in self.applied if step is None or debit.step == step]
        return Reservation(step=step or 0, retries=sum(debit.retries for debit in mine))

    def lease(self, key: str, owner: str, now_us: int, ttl_us: int) -> int | None:
        return None

    def close(self) -> None:
        """Nothing is open."""


class FakeCheckpoints:
    """A CheckpointStore in memory."""

    def __init__(self) -> None:
        self.saved: list[Checkpoint] = []

    def save(self, checkpoint: Checkpoint) -> None:
        self.saved.append(checkpoint)

    def last(self, trial_id: str) -> Checkpoint | None:
        mine = [saved for saved in self.saved if saved.trial_id == trial_id]
        return mine[-1] if mine else None


class FakeStrategy:
    """A Strategy whose decisions come from a script; its state counts them."""

    def __init__(self, decisions: Iterable[Decision] | Callable[[StrategyEvent], Decision]) -> None:
        self._script: Script[StrategyEvent, Decision] = Script(decisions)

    @property
    def asked(self) -> list[StrategyEvent]:
        return self._script.asked

    def begin(self) -> StrategyState:
        return {"asked": 0}

    def decide(self, state: StrategyState, event: StrategyEvent) -> tuple[StrategyState, Decision]:
        return {"asked": state["asked"] + 1}, self._script(event)


class FakeSummarizer:
    """A Summarizer that keeps the first message and the last `keep`."""

    def __init__(self, keep: int = 1) -> None:
        self._keep = keep

    def compress(
        self, messages: Sequence[Mapping[str, Any]], ask: Ask | None = None
    ) -> list[Mapping[str, Any]]:
        return [*messages[:1], *messages[1:][-self._keep :]]


class FakeInjector:
    """A CallInjector that answers the coordinates it is given, and lets all others through.

    `lands`: coordinates whose call is made before its answer is lost.
    """

    def __init__(
        self, answers: Mapping[Coordinate, Observation], lands: Iterable[Coordinate] = ()
    ) -> None:
        self.delivered: list[Coordinate] = []
        self.healed = 0
        self._answers = answers
        self._lands = frozenset(lands)

    def kinds(self) -> frozenset[str]:
        return frozenset()

    def wrap(self, inner: CallPort, scene: Scene | None = None) -> CallPort:
        return FakePort(lambda call: self._play(inner, call))

    def heal(self) -> None:
        self.healed += 1

    def _play(self, inner: CallPort, call: Call) -> Observation:
        at = (call.point, call.occurrence, call.attempt)
        if at not in self._answers:
            return inner.attempt(call)
        self.delivered.append(at)
        if at in self._lands:
            inner.attempt(call)
        return self._answers[at]


class FakeGateway:
    """A WireInjector that injects nothing; keeps who is in, and who was."""

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        self.scenes: dict[str, Scene] = {}
        self.left: list[str] = []
        self.upstream = ""
        self._kinds = frozenset(kinds)

    def kinds(self) -> frozenset[str]:
        return self._kinds

    def start(self, upstream: str) -> None:
        self.upstream = upstream

    def enter(self, scene: Scene) -> str:
        self.scenes[scene.trial_id] = scene
        return f"{self.upstream}/t/{scene.trial_id}/v1"

    def leave(self, trial_id: str) -> None:
        del self.scenes[trial_id]
        self.left.append(trial_id)

    def stop(self) -> None:
        self.upstream = ""


class FakeBackend:
    """An LlmBackend whose clients are made by a function of the base URL and the scope."""

    def __init__(
        self,
        client: Callable[[str, ModelScope], CallPort] = lambda _url, _scope: FakeModel(()),
        origin: Origin = Origin.REHEARSAL,
    ) -> None:
        self.origin = origin
        self.prices_digest = "fake"
        self.sealed: tuple[SealedTask, ...] = ()
        self.running = False
        self._client = client

    def start(self, sealed: Sequence[SealedTask]) -> str:
        self.sealed, self.running = tuple(sealed), True
        return "fake://model"

    def client(self, base_url: str, scope: ModelScope) -> CallPort:
        return self._client(base_url, scope)

    def stop(self) -> None:
        self.running = False


class FakeExecutor:
    """An Executor that works in the caller's thread, one item after the other."""

    def run(
        self,
        items: Iterable[Item],
        open_scope: Callable[[int], AbstractContextManager[Scope]],
        work: Callable[[Scope, Item], Answer],
        hurry: Callable[[], None] = lambda: None,
    ) -> Iterator[Answer]:
        with open_scope(0) as scope:
            for item in items:
                yield work(scope, item)


class FakeRuntime:
    """A Runtime without guard: replies and answers from scripts, a user, and what was asked."""

    def __init__(
        self,
        replies: Iterable[ModelReply] | Callable[[Sequence[Message]], ModelReply] = (),
        answers: Iterable[ToolReply] | Callable[[ToolRequest], ToolReply] = (),
        user: FakeUser | None = None,
    ) -> None:
        self.models: Script[Sequence[Message], ModelReply] = Script(replies)
        self.tools: Script[ToolRequest, ToolReply] = Script(answers)
        self.offered: list[Mapping[str, Any]] = []
        self.user = user or FakeUser()

    def model(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> ModelReply:
        self.offered = list(tools)
        return self.models([dict(message) for message in messages])

    def tool(self, request: ToolRequest) -> ToolReply:
        return self.tools(request)

    def user_opens(self) -> UserTurn:
        return self.user.open()

    def user_replies(self, text: str) -> UserTurn:
        return self.user.reply(text)


class FakeAgent:
    """An Agent that does what a function does."""

    def __init__(self, act: Callable[[Runtime], None], *, needs_oracle: bool = False) -> None:
        self.oracle = Oracle()
        self.needs_oracle = needs_oracle
        self._act = act

    def run(self, task: TaskSpec, runtime: Runtime, oracle: Oracle) -> None:
        self.oracle = oracle
        self._act(runtime)
