"""Keeps what outlives a crash of the runtime under test (paper §5.4): its checkpoints.

They are made at the five moments of the paper, the one after COMMITTED once the answer has reached
the agent: a checkpoint made before would have the agent ask for the write again. A trace gets the
digests of the two states alone, since an agent's holds benchmark texts.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.lab.step import TrialStopped
from hfr_bench.model.ledger import Checkpoint, CheckpointPoint
from hfr_bench.model.record import json_digest
from hfr_bench.model.terms import End
from hfr_bench.model.trace import Checkpointed
from hfr_bench.ports.agent import Agent, Resumable
from hfr_bench.ports.checkpoint import CheckpointStore
from hfr_bench.ports.clock import Clock
from hfr_bench.ports.sink import Sink
from hfr_bench.ports.strategy import StrategyState
from hfr_bench.recovery.checkpoint import drift, open_sealed, seal


class MemoryCheckpoints:
    """A CheckpointStore of sealed lines: what comes back is what was written down."""

    def __init__(self) -> None:
        self._sealed: dict[str, str] = {}

    def save(self, checkpoint: Checkpoint) -> None:
        self._sealed[checkpoint.trial_id] = seal(checkpoint)

    def last(self, trial_id: str) -> Checkpoint | None:
        line = self._sealed.get(trial_id)
        return None if line is None else open_sealed(line)


@dataclass(slots=True)
class Checkpoints:
    """One trial's. `agent`: whoever works on it now. `due`: made when the agent asks next.

    `before`: the before-reads of unfinished writes, by stepless key. They are part of PREPARED:
    without them nobody could tell after a crash whether an accumulating write landed.
    """

    trial_id: str
    sink: Sink
    clock: Clock
    config_digest: str = ""
    goal_version: int = 1
    store: CheckpointStore = field(default_factory=MemoryCheckpoints)
    agent: Agent | None = None
    due: bool = False
    before: dict[str, str] = field(default_factory=dict)
    _seq: int = 0

    def mark(self, point: CheckpointPoint | None, state: StrategyState, step: int) -> None:
        """A decision has brought one of the moments, or none."""
        if point is CheckpointPoint.COMMITTED:
            self.due = True
        elif point is not None:
            self.save(point, state, step)

    def asked(self, state: StrategyState, step: int) -> None:
        """The agent asks for its next step: every answer before it has reached it."""
        if self.due:
            self.save(CheckpointPoint.COMMITTED, state, step)

    def save(self, point: CheckpointPoint, state: StrategyState, step: int) -> None:
        """Save both states, and write down that it was done.

        Raises TrialStopped (FAILED) for a strategy's state that is not JSON.
        """
        self._seq += 1
        self.due = False
        agent: dict[str, Any] = self.agent.state() if isinstance(self.agent, Resumable) else {}
        states = state, {"agent": agent, "before": dict(self.before)}
        try:
            text = json.dumps(states, allow_nan=False)
        except (ValueError, TypeError) as error:
            broke = f"the state of strategy or agent cannot be written down: {error}"
            raise TrialStopped(End.FAILED, broke) from error
        strategy_state, agent_state = json.loads(text)
        made = Checkpoint(
            trial_id=self.trial_id,
            seq=self._seq,
            at_us=self.clock.now_us(),
            point=point,
            strategy_state=strategy_state,
            agent_state=agent_state,
            goal_version=self.goal_version,
            config_digest=self.config_digest,
        )
        self.store.save(made)
        told = {
            "strategy_state": {"sha256": json_digest(strategy_state)},
            "agent_state": {"sha256": json_digest(agent_state)},
        }
        self.sink.write(Checkpointed(checkpoint=made.model_copy(update=told)), step=step)

    def last(self) -> tuple[Checkpoint | None, bool]:
        """The last checkpoint, if any, and whether the configuration has changed since."""
        self.due = False
        found = self.store.last(self.trial_id)
        self.before = dict(found.agent_state["before"]) if found else {}
        return found, found is not None and drift(found, self.config_digest) is not None
