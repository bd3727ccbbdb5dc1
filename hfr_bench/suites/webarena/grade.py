"""Grading an episode: the record's own checks, and nothing else. Pure but for living pages.

What the suite's grader says is the official verdict. Whether the goal was met, and how often, only
the site's own database tells: see docs/webarena.md.
"""

from hfr_bench.suites.webarena.episode import Episode
from hfr_bench.suites.webarena.helpers import RestAccount
from hfr_bench.suites.webarena.network import Asked, check_exchanges, reading_of
from hfr_bench.suites.webarena.original import Words, check_pages, check_url, check_words
from hfr_bench.suites.webarena.responses import NAME as ANSWERS
from hfr_bench.suites.webarena.responses import check_answer
from hfr_bench.suites.webarena.rows import Record
from hfr_bench.suites.webarena.urls import Reading, Sites
from hfr_bench.suites.webarena.verdict import Check, Verdict

NO_WORDS = Words()


def grade(
    record: Record,
    episode: Episode,
    sites: Sites,
    words: Words = NO_WORDS,
    account: RestAccount | None = None,
) -> Verdict:
    """The verdict on an episode of a task.

    `words`: who decides where words are held against words; `account`: of the shop's interface.
    Raises BadInputError: a site's URL is missing, or a recording cannot show a page that must be
    seen; InfrastructureError: a site answered no page, so nothing was graded.
    """
    if record.problem.shape == "verified":
        return Verdict(tuple(_verified(record, episode, sites)))
    return Verdict(tuple(_original(record, episode, sites, words, account or RestAccount())))


def _verified(record: Record, episode: Episode, sites: Sites) -> list[Check]:
    among = record.problem.sites
    checks = []
    for grading in record.grading:
        if grading["evaluator"] == ANSWERS:
            checks.append(check_answer(grading, episode.answer, Reading(sites, among)))
        else:
            asked = Asked(grading, reading_of(grading, sites, among), record.work == "navigate")
            checks.append(check_exchanges(asked, episode.exchanges))
    return checks


def _original(
    record: Record, episode: Episode, sites: Sites, words: Words, account: RestAccount
) -> list[Check]:
    checks = []
    for kind in record.checks:
        if kind == "string_match":
            answer = episode.answer or ""
            checks.append(check_words(record.id, record.grading, answer, words))
        elif kind == "url_match":
            checks.append(check_url(record.grading, episode.url, sites))
        else:
            checks.append(check_pages(record.grading, episode, sites, account))
    return checks
