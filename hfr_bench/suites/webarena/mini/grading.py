"""The verdicts on a trial: Verified's rule, WebArena's rule, and what the database says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hfr_bench.model.trial import Grade
from hfr_bench.suites.webarena.browse.driver import View
from hfr_bench.suites.webarena.episode import Episode, Look, Rest, from_har
from hfr_bench.suites.webarena.grade import grade
from hfr_bench.suites.webarena.mini.catalog import WebTask
from hfr_bench.suites.webarena.mini.records import SUCCESS, plain_answer
from hfr_bench.suites.webarena.urls import Sites
from hfr_bench.suites.webarena.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Graded:
    """What a trial left. `wrong`: how the database is not as wanted; `state`: its digest."""

    answer: str | None
    view: View
    har: Mapping[str, Any]
    look: Look
    rest: Rest
    wrong: tuple[str, ...]
    state: str


def graded(task: WebTask, left: Graded, sites: Sites) -> Grade:
    """`official` is Verified's verdict, `goal_met` the database's and, where due, the answer's.

    A task that wants nothing changed is met by the right answer (of navigation: by the page that
    was asked for last) and a database that is as it was. Raises InfrastructureError.
    """
    verified = _verdict(task, left, sites, plain=False)
    original = _verdict(task, left, sites, plain=True)
    as_wanted = not left.wrong
    mutates = task.row["type"] == "mutate" and task.row.get("status", SUCCESS) == SUCCESS
    parts = {
        "verified": verified.score or 0.0,
        "original": original.score or 0.0,
        "state": float(as_wanted),
        "declined": float(plain_answer(left.answer) == "N/A"),
    }
    met = as_wanted and (mutates or verified.score == 1.0)
    return Grade(
        official=parts["verified"], goal_met=met, components=parts, state_digest=left.state
    )


def _verdict(task: WebTask, left: Graded, sites: Sites, *, plain: bool) -> Verdict:
    episode = Episode(
        answer=plain_answer(left.answer) if plain else left.answer,
        url=left.view.url,
        exchanges=from_har(left.har),
        tabs=left.view.tabs,
        look=left.look,
        rest=left.rest,
    )
    return grade(task.original if plain else task.verified, episode, sites)
