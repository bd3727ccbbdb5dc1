"""Tasks and tools: the public half that everybody sees, and the sealed half that grades."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from hfr_bench.model.record import Record, digest, is_unset
from hfr_bench.model.terms import Criticality, Layer, SideEffect

OPEN = "*"
"""Among the expected effects of a task: others may be wanted, too, and nobody wrote down which.

Nothing is unwanted there; a repeat is a duplicate as everywhere.
"""


def task_name(suite: str, task_id: str) -> str:
    """A task as people read it: with its suite, which some ids begin with."""
    return task_id if task_id.startswith(f"{suite}/") else f"{suite}/{task_id}"


class ReconcileContract(Record):
    """How to ask the world whether a write landed, through the suite's own tools.

    `arguments` maps the read's parameters to literals or `$name` references into the write's
    arguments. `landed` names a predicate `(before, after, args)` of the suite. `needs_before`:
    the write accumulates, so the answer needs a read made before it (part of PREPARED).
    """

    read: str
    arguments: dict[str, Any] = {}
    landed: str
    needs_before: bool = False

    def fill(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The read's arguments, with `$name` taken from the write's; None where it has none."""
        return {
            name: arguments.get(value[1:]) if isinstance(value, str) and value[:1] == "$" else value
            for name, value in self.arguments.items()
        }


class ToolSpec(Record):
    """One tool of a task and its recovery contract. Nulls are allowed and mean what they say."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    level: SideEffect
    identity_args: tuple[str, ...] = ()
    idempotency_key_param: str | None = None
    reconcile: ReconcileContract | None = None
    equivalents: tuple[str, ...] = ()
    compensate_by: str | None = None
    irreversible: bool = False

    def natural_key(self, arguments: Mapping[str, Any]) -> str:
        """Digest of tool and identifying arguments: effects that share it are the same effect."""
        return digest([self.name, {n: arguments.get(n) for n in self.identity_args}])


class FaultPoint(Record):
    """A place where faults may happen. `point` names a role, never a tier (`model:agent`)."""

    point: str
    layer: Layer
    target: str
    level: SideEffect = SideEffect.READ


class TaskSpec(Record):
    """The public task: what agent, strategy and verifier may see (paper appendix E).

    `deadline_s`: trial seconds to finish in. `source_digest`: of the upstream task it stands for.
    """

    task_id: str
    suite: str
    domain: str = ""
    prompt: str = ""
    criticality: Criticality = Criticality.MEDIUM
    quality_floor: float = 0.8
    deadline_s: float = 600.0
    stratum: str = ""
    goal_version: int = 1
    tools: tuple[ToolSpec, ...] = ()
    fault_points: tuple[FaultPoint, ...] = ()
    source_digest: str = ""

    def tool(self, name: str) -> ToolSpec | None:
        """The named tool, or None if the task does not offer it."""
        return next((t for t in self.tools if t.name == name), None)


class OracleStep(Record):
    """One call of the suite's own solution, by the agent or by the (scripted) user.

    `requests`: of the web requests that it leads to, those at a route, as in points (`POST order`).
    """

    actor: Literal["agent", "user"]
    tool: str
    arguments: dict[str, Any] = {}
    requests: tuple[str, ...] = Field(default=(), exclude_if=is_unset)


class Probe(Record):
    """A call that tries a tool's level where no oracle uses it; the last of `steps` counts."""

    task_id: str
    steps: tuple[OracleStep, ...]


class ExpectedEffect(Record):
    """An effect the task wants: its natural key and how often the oracle brings it about."""

    natural_key: str
    tool: str
    count: int = 1
    atomic_group: str | None = None


class SealedTask(Record):
    """The sealed half: reaches only the suite, the checker and the rehearsal server.

    `say`: strings that the agent must have told the user. `opening`: the user's first words.
    """

    task_id: str
    suite: str
    opening: str = ""
    oracle: tuple[OracleStep, ...] = ()
    say: tuple[str, ...] = ()
    expected: tuple[ExpectedEffect, ...] = ()
    grading: dict[str, Any] = {}
