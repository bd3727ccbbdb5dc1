"""The verdicts on a trial on sites whose database nobody can see.

`official`: the record's own grader, over what the *browser* saw. `goal_met`: the same checks over
what the *sites* got and answered, and no form that was carried out more often than once. So a
runtime is right that did not send a form again whose answer it never saw, and one is not that sent
it twice (docs/webarena.md, "The blind spot").
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hfr_bench.model.trial import Grade
from hfr_bench.suites.webarena.browse.driver import View
from hfr_bench.suites.webarena.episode import Episode, Exchange, Look, Rest, from_har
from hfr_bench.suites.webarena.grade import grade
from hfr_bench.suites.webarena.official.effects import Write, repeats
from hfr_bench.suites.webarena.original import Words
from hfr_bench.suites.webarena.rows import Record
from hfr_bench.suites.webarena.urls import Sites

SUCCESS, NOT_POSSIBLE = "SUCCESS", "N/A"


@dataclass(frozen=True, slots=True)
class Left:
    """What a trial left. `exchanges`, `done`: what the sites got, and what it did to them."""

    view: View
    har: Mapping[str, Any]
    exchanges: Sequence[Exchange]
    done: Sequence[Write]
    look: Look
    rest: Rest
    state: str


def graded(record: Record, left: Left, at_browser: Sites, at_sites: Sites, words: Words) -> Grade:
    """The grade. `at_browser`, `at_sites`: the addresses in the HAR and in the exchanges.

    Components: `verdict` (official), `at_sites` (by the sites' own exchanges; of an original record
    the same), `repeated` (effects beyond the first), `undecided` (words that nobody judged),
    `declined`. Raises InfrastructureError where a page that must be seen did not come.
    """
    view = left.view
    episode = Episode(
        answer=view.answer,
        url=view.url,
        exchanges=from_har(left.har),
        tabs=view.tabs,
        look=left.look,
        rest=left.rest,
    )
    verdict = grade(record, episode, at_browser, words)
    seen = verdict
    if record.problem.shape == "verified":
        seen = grade(record, Episode(view.answer, exchanges=tuple(left.exchanges)), at_sites, words)
    again = repeats(left.done)
    parts = {
        "verdict": verdict.score or 0.0,
        "at_sites": seen.score or 0.0,
        "repeated": float(again),
        "undecided": float(verdict.score is None),
        "declined": float(declined(view.answer)),
    }
    met = seen.score == 1.0 and not again
    return Grade(official=parts["verdict"], goal_met=met, components=parts, state_digest=left.state)


def declined(answer: str | None) -> bool:
    """Whether the task was called impossible, in words or as Verified wants it."""
    text = (answer or "").strip()
    if text.upper() == NOT_POSSIBLE:
        return True
    try:
        told = json.loads(text)
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("status", SUCCESS) != SUCCESS
