"""What a bundle holds besides the experiment itself, and what verifying it found."""

from pydantic import Field

from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.record import Record, is_unset
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.task import FaultPoint, OracleStep
from hfr_bench.model.terms import Origin

LAYOUT = "hfr-bundle@1"
"""The layout of a bundle; a verifier reads no other."""

LEVELS = ("integrity", "registration", "schedules", "re-derivation", "re-execution")
"""What verifying goes through, from 0 on."""
DEFAULT_LEVEL = 3
"""The highest level that needs nothing but the bundle."""
AGAIN = 4
"""The level that runs trials again."""
SAMPLE = 20
"""Trials that level 4 runs again."""


class TaskPoints(Record):
    """What a schedule is drawn from: a task's fault points, and its oracle if that is followed.

    `oracle`: actor and tool of each step; its arguments are benchmark text and are left out.
    `source_digest`: of the upstream task, as in the lock. That the points are really this task's
    is the word of whoever made the bundle.
    """

    suite: str
    task_id: str
    source_digest: str = ""
    fault_points: tuple[FaultPoint, ...] = ()
    oracle: tuple[OracleStep, ...] = ()


class Content(Record):
    """content.json: what the schedules were drawn from, so that they can be drawn again.

    `seeds`: suite -> the text of the seed that its setting `seed_digest` committed to, where it is
    told.
    """

    matrix: FaultMatrix
    kinds: dict[str, KindSpec]
    tasks: tuple[TaskPoints, ...]
    seeds: dict[str, str] = Field(default={}, exclude_if=is_unset)


class Environment(Record):
    """environment.json: what made the report; no name of a machine, no path.

    `code`: a digest of the source that makes numbers and pages; "" in bundles that came before it.
    """

    harness_version: str
    python: str
    implementation: str
    system: str
    machine: str
    packages: dict[str, str]
    code: str = ""


class Chain(Record):
    """The end of a trace: how many lines it has, and the SHA-256 of the last one."""

    path: str
    lines: int
    last: str


class Bundle(Record):
    """bundle.json, in canonical form: what the bundle says of itself.

    `damaged`: unreadable lines and broken hash chains, as the store names them. `archived`: what
    interrupted runs left; in the bundle, read by nobody. `chains`: one a finished trace.
    """

    layout: str = LAYOUT
    name: str
    title: str
    origin: Origin
    prereg_digest: str
    traces_digest: str
    harness_version: str
    complete: bool
    valid: bool
    trials_planned: int
    trials_analysed: int
    control_trials: int
    groups_dropped: int
    archived: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    chains: tuple[Chain, ...] = ()

    def summary(self) -> "Bundle":
        """The same without its long lists."""
        return self.model_copy(update={"archived": (), "damaged": (), "chains": ()})


class Check(Record):
    """One check of a level. `ok`: None where it cannot be told."""

    level: int
    check: str
    ok: bool | None
    detail: str = ""


class Verification(Record):
    """What `hfr-bench verify` found. `manifest_digest` names the bundle.

    `word`: what no check could reach, so that it rests on the word of whoever made the bundle.
    """

    name: str
    origin: Origin | None
    manifest_digest: str
    level: int
    verified: bool
    complete: bool
    valid: bool
    checks: tuple[Check, ...]
    word: tuple[str, ...] = ()
