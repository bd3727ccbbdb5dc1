"""Strategy-side checks (paper §4.7, table 8); they never see the grader.

How it is wired: a suite that ships checks is `Checked`. For an arm equipped with `verifier`, the
runtime asks `suite.verifier(task)` once a trial, keeps the answered calls of the trial, and on a
VERIFY decision calls `verify` and hands the verdict to the strategy as `Verified`. `look` goes
through the onion at a point of its own (`verify:<tool>`), is charged, and can be faulted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from hfr_bench.model.attempt import Observation, Verdict
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import CheckLevel

# Reads the world by one of the suite's own tools: name, arguments -> what was seen.
Look = Callable[[str, Mapping[str, Any]], Observation]


@dataclass(frozen=True, slots=True)
class Answered:
    """A call of the agent's in this trial that was answered without a domain error."""

    tool: str
    arguments: Mapping[str, Any]
    body: str


@dataclass(frozen=True, slots=True)
class Check:
    """What a check may look at: all of it is what the runtime itself has seen.

    `observation`: the answer; None = the call is not made yet, check its arguments alone.
    `history`: answered calls so far, oldest first. `before`: the contract's read made before the
    write, if there was one. `look`: see above.
    """

    tool: str
    arguments: Mapping[str, Any]
    observation: Observation | None
    history: Sequence[Answered]
    look: Look
    before: str | None = None


class Verifier(Protocol):
    """Judges a tool call at a level. One for each task; keeps no state of its own."""

    @property
    def levels(self) -> tuple[CheckLevel, ...]:
        """The levels it can judge at, cheapest first."""
        ...

    def verify(self, level: CheckLevel, check: Check) -> Verdict:
        """The verdict with its reasons; what cannot be decided passes, `undecided`.

        Raises ValueError for a level it does not offer.
        """
        ...


@runtime_checkable
class Checked(Protocol):
    """A suite that ships strategy-side checks."""

    def verifier(self, task: TaskSpec) -> Verifier:
        """The checks for a task, made from its public half alone."""
        ...
