"""Makes a trial's calls: coordinates, bounds, and what is sent, one physical attempt at a time."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from hfr_bench.lab.limits import TrialLimits
from hfr_bench.lab.recorder import Sums, TruthQueue
from hfr_bench.lab.step import Progress, Step, TrialStopped
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.prereg import Limits
from hfr_bench.model.terms import Channel, End, LedgerState
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.clock import Clock

Coordinate = tuple[str, int, int]
"""Point, occurrence, attempt."""

To = tuple[Channel, str, Mapping[str, Any]]
"""Channel, target, payload."""


@dataclass(slots=True, kw_only=True)
class Caller:
    """One trial's calls. `onion`: the guarded port of each channel, outermost recorder first.

    `start_us`: when the trial began, on its clock; above 0 only within a cohort.
    """

    trial_id: str
    onion: Mapping[Channel, CallPort]
    truth: TruthQueue
    clock: Clock
    sums: Sums
    limits: Limits = Limits()
    start_us: int = 0
    _occurrences: Counter[str] = field(default_factory=Counter)
    _operations: int = 0
    _bounds: TrialLimits = field(init=False)

    def __post_init__(self) -> None:
        self._bounds = TrialLimits(self.limits, self.sums, self.clock, self.start_us)

    def _too_many(self) -> NoReturn:
        most = f"more than max_attempts = {self.limits.max_attempts} attempts of a step"
        raise TrialStopped(End.LIMIT, most)

    def _query(self, at: Progress, purpose: str) -> Observation:
        """The read of the write's recovery contract."""
        contract = at.step.contract
        assert contract is not None
        to = (Channel.TOOL, contract.read, contract.fill(at.step.payload))
        return self._read(at, purpose, to)

    def _read(self, at: Progress, purpose: str, to: To) -> Observation:
        """One attempt of a call made *for the strategy*, at a point of its own.

        One that follows a failed one is its next attempt; any other is a new occurrence.
        """
        model = to[0] is Channel.MODEL
        point = f"model:{purpose}" if model else f"{purpose}:{at.target}"
        occurrence, attempt = at.reads.get(point, (0, 0))
        if not occurrence:
            self._occurrences[point] += 1
            occurrence = self._occurrences[point]
        timeout_s = self.limits.model_timeout_s if model else self.limits.tool_timeout_s
        coordinate = (point, occurrence, attempt + 1)
        seen = self._attempt(at, coordinate, purpose, to, round(timeout_s * 1_000_000))
        at.reads[point] = (0, 0) if seen.answered else (occurrence, attempt + 1)
        return seen

    def _attempt(
        self, at: Progress, coordinate: Coordinate, purpose: str, to: To, timeout_us: int
    ) -> Observation:
        if at.made >= self.limits.max_attempts:
            self._too_many()
        self._bounds.check()
        self._operations += 1
        at.made += 1
        point, occurrence, attempt = coordinate
        channel, target, payload = to
        call = Call(
            step=at.step.number,
            point=point,
            occurrence=occurrence,
            attempt=attempt,
            channel=channel,
            target=target,
            timeout_us=self._bounds.within(timeout_us),
            payload=payload,
            purpose=purpose,
            operation_id=f"{self.trial_id}.{self._operations}",
            intent=at.step.intent if purpose == "agent" else None,
        )
        return self.onion[channel].attempt(call)

    def _moved(self, at: Progress, step: Step) -> None:
        """The step goes on at another point, where its occurrence and attempts are counted anew."""
        self._occurrences[step.point] += 1
        at.step, at.occurrence, at.earlier = step, self._occurrences[step.point], at.attempts
        at.before, at.reads = None, {}

    def _operation(self, to: LedgerState) -> str:
        """The operation a move is about: PREPARED announces the next one."""
        return f"{self.trial_id}.{self._operations + (to is LedgerState.PREPARED)}"

    @staticmethod
    def _keyed(at: Progress) -> Mapping[str, Any]:
        """The arguments, with the ledger's key where the tool takes one."""
        tool = at.step.tool
        if tool is None or tool.idempotency_key_param is None or not at.key:
            return at.step.payload
        return {**at.step.payload, tool.idempotency_key_param: at.key}
