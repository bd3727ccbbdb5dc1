"""Strategy-side checks of single actions, V0 to V2: from what a runtime that owns a browser sees.

V0 transport: an answer is there, and its page is whole.
V1 deterministic: the action was possible, and the page is not the site's refusal.
V2 semantic: a second look, at the site's own page that shows what the button does.

No evaluator, no oracle, no control of the sites and no database is within reach here.
"""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.attempt import Observation
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import SideEffect
from hfr_bench.ports.verifier import Check
from hfr_bench.suites._verifying import ByRules, JudgeLanded, Rules
from hfr_bench.suites.webarena.acting.contracts import REFUSED, landed, level_of, whole
from hfr_bench.suites.webarena.acting.offer import Offer


class ActionVerifier(ByRules):
    """Implements `ports.verifier.Verifier` for one task.

    `offer`: what the sites' buttons do; `judge`: whether a page that was read back shows a write.
    """

    def __init__(self, task: TaskSpec, offer: Offer, judge: JudgeLanded = landed) -> None:
        def level(tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
            return level_of(tool, arguments, offer.button)

        super().__init__(task, Rules(_whole, _sound, level, judge, _called))


def _whole(_tool: str, seen: Observation) -> str:
    ends = seen.domain_error or whole(seen.body)
    return "" if ends else "the page is not whole: its end is missing"


def _sound(check: Check) -> str:
    seen = check.observation
    if seen is None or not seen.answered:
        return ""
    if seen.body.startswith(REFUSED):
        return seen.body.splitlines()[0]
    return "the site refused" if seen.domain_error else ""


def _called(check: Check) -> str:
    return repr(check.arguments.get("name"))
