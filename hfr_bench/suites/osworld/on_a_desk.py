"""What suites on a desk have in common: levels, reconcile answers, checks, how to give up."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.task import OracleStep, TaskSpec
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.suites.osworld import contracts
from hfr_bench.suites.osworld.verifier import DeskVerifier


def finish(status: str) -> OracleStep:
    """The action that ends an episode: DONE or FAIL."""
    return OracleStep(actor="agent", tool=contracts.FINISH, arguments={"status": status})


def no_time(_seconds: float) -> None:
    """A wait on a desk without a screen, where nothing needs a moment."""


class OnADesk:
    """Implements `ports.suite.Levelled`, `Declinable`, `ports.verifier.Checked`, and `landed`."""

    gives_up = finish("FAIL")

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return contracts.landed(predicate, before, after, arguments)

    def level_of(self, tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
        """Of this very action; None where the tool's own stands."""
        return contracts.level_of(tool, arguments)

    def verifier(self, task: TaskSpec) -> DeskVerifier:
        """Strategy-side checks of actions; they know what the agent knows."""
        return DeskVerifier(task)
