"""WebArena's own checks: of the answer's words, of the last URL, of a living page.

The first two are pure. The third asks the page through `Episode.look` and the shop's API through
`Episode.rest`; whoever provides them switches faults off first.

118 tasks may hold words against words, which upstream leaves to a language model. Here a list of
accepted answers or a judge may decide; where neither does, the check is undecided, not failed.
"""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.episode import Episode
from hfr_bench.suites.webarena.helpers import RestAccount, called
from hfr_bench.suites.webarena.urls import Sites
from hfr_bench.suites.webarena.verdict import Check

Judge = Callable[[str, str, str], bool]
"""(intent, reference, answer) -> whether the answer says the same."""

OR = " |OR| "
NOT_POSSIBLE = "N/A"
_ALONE = re.compile(r"([;@#$%&?!*\[\](){}<>\"\u201c\u201d\u201e\u00ab\u00bb\u2026]|\.{2,}|--)")
_BEFORE_A_WORD = re.compile(r"([:,])(\D|$)")
_LAST_STOP = re.compile(r"(?<!\.)\.(?=[\])}>\"' ]*\s*$)")
_OPENING = re.compile(r"(?i)(?<!\w)'(?!re|ve|ll|m|t|s|d|n)(?=\w\b)")
_ENDING = re.compile(r"(?i)('(?:s|m|d|ll|re|ve)?|n't)(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Words:
    """Who decides where words are held against words.

    `accepted`: answers that a person has found right, whole, a task's id; they are compared as
    upstream cleans them. `judge`: asked about what is not among them.
    """

    accepted: Mapping[int, Sequence[str]] = field(default_factory=dict)
    judge: Judge | None = None


def cleaned(answer: str) -> str:
    """An answer without the quotes around it, in lower case."""
    answer = answer.strip()
    for quote in "'\"":
        if answer.startswith(quote) and answer.endswith(quote):
            return answer[1:-1].lower()
    return answer.lower()


def includes(reference: str, answer: str, *, whole_word: bool = False) -> bool:
    """Whether an answer includes the reference; a lone letter or digit only as a word."""
    reference, answer = cleaned(reference), cleaned(answer)
    if whole_word and len(reference) == 1:
        return reference in words_of(answer)
    return reference in answer


def words_of(text: str) -> list[str]:
    """The words and signs of a text, as the Treebank rules part them: `$0.00` is `$`, `0.00`."""
    text = _ALONE.sub(r" \1 ", text)
    text = _BEFORE_A_WORD.sub(r" \1 \2", text)
    text = _LAST_STOP.sub(" . ", text)
    return _ENDING.sub(r" \1 ", _OPENING.sub("' ", text)).split()


def check_words(task_id: int, grading: Mapping[str, Any], answer: str, words: Words) -> Check:
    """The `string_match` of a task. `grading`: `eval` and `intent`."""
    references = grading["eval"]["reference_answers"]
    answer = cleaned(answer)
    found: list[Check] = []
    if "exact_match" in references:
        wanted = references["exact_match"]
        found.append(_said(cleaned(wanted) == cleaned(answer), f"not exactly {wanted!r}"))
    for reference in references.get("must_include", ()):
        alone = len(references["must_include"]) == 1
        found.append(_said(includes(reference, answer, whole_word=alone), f"without {reference!r}"))
    if "fuzzy_match" in references:
        found.append(_fuzzy(task_id, grading, answer, words))
    return min(found, key=lambda check: (check.passed is not False, check.passed is not None))


def _said(passed: bool, why: str) -> Check:
    return Check("string_match", passed, "" if passed else f"the answer is {why}")


def _fuzzy(task_id: int, grading: Mapping[str, Any], answer: str, words: Words) -> Check:
    """Words against words: by the text itself, by accepted answers, by a judge, or undecided."""
    reference = grading["eval"]["reference_answers"]["fuzzy_match"]
    impossible = reference == NOT_POSSIBLE
    references = [reference] if isinstance(reference, str) else list(reference)
    accepted = {cleaned(one) for one in words.accepted.get(task_id, ())}
    if not answer:
        return _said(False, "empty")
    if answer in accepted or [answer] == [cleaned(one) for one in references]:
        return Check("string_match", True)
    if words.judge is None:
        return Check("string_match", None, "the words must be judged, and there is no judge")
    if impossible:
        references = [grading["eval"].get("string_note") or NOT_POSSIBLE]
    judged = all(words.judge(grading["intent"], one, answer) for one in references)
    return _said(judged, "judged not to say the same")


def check_url(grading: Mapping[str, Any], url: str, sites: Sites) -> Check:
    """The `url_match` of a task: the gold address within the last one; any value of a name."""
    golds = [sites.render(one).rstrip("/") for one in grading["eval"]["reference_url"].split(OR)]
    place, query = _parts(url.rstrip("/"))
    at_place = any(_parts(gold)[0] in place for gold in golds)
    wanted: dict[str, set[str]] = {}
    for gold in golds:
        for name, values in _parts(gold)[1].items():
            wanted.setdefault(name, set()).update(values)
    lacking = [name for name, values in wanted.items() if not values & set(query.get(name, ()))]
    why = f"ended at {url}, not at {OR.join(golds)}" if not at_place else f"query: {lacking}"
    passed = at_place and not lacking
    return Check("url_match", passed, "" if passed else why)


def _parts(url: str) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(url)
    return parts.netloc + parts.path.partition(";")[0], parse_qs(parts.query)


def check_pages(
    grading: Mapping[str, Any], episode: Episode, sites: Sites, account: RestAccount
) -> Check:
    """The `program_html` of a task: what living pages hold after the episode.

    Raises BadInputError for a target that cannot be read, InfrastructureError if a site answers no
    page: then nothing was graded.
    """
    for number, target in enumerate(grading["eval"]["program_html"]):
        where = _where(target["url"], episode, sites, account)
        text = html.unescape(_seen(target, where, episode, sites, account))
        lacking = _lacking(target["required_contents"], text, sites)
        if lacking:
            shown = where or "the last page"
            return Check("program_html", False, f"target {number}, {shown}: no {lacking!r}")
    return Check("program_html", True)


def _where(url: str, episode: Episode, sites: Sites, account: RestAccount) -> str | None:
    """The address to look at; None: the page as the agent left it."""
    if url == "last":
        return None
    if url.startswith("func"):
        return called(url.partition("func:")[2], episode, sites, account)
    return sites.render(url)


def _seen(
    target: Mapping[str, Any],
    where: str | None,
    episode: Episode,
    sites: Sites,
    account: RestAccount,
) -> str:
    locator = sites.render(target["locator"]).strip()
    if locator.startswith("func:"):
        found = called(locator.partition("func:")[2], episode, sites, account)
        return episode.look(where, found) if "__page__" in locator else found
    if locator and not locator.startswith(("document.", "[...document.")):
        raise BadInputError(f"no locator that can be read: {locator!r}")
    first = "".join(f"{action};" for action in target.get("prep_actions") or ())
    if locator and first:
        locator = f"(() => {{ try {{ {first} }} catch (e) {{}} return {locator}; }})()"
    return episode.look(where, locator)


def _lacking(required: Mapping[str, Any], text: str, sites: Sites) -> str:
    """The first required content that a text lacks; "" if it has all."""
    if "exact_match" in required:
        wanted = sites.render(required["exact_match"])
        return "" if cleaned(wanted) == cleaned(text) else wanted
    if "must_include" not in required:
        raise BadInputError(f"required contents that cannot be read: {dict(required)!r}")
    for content in required["must_include"]:
        several = sites.render(content).split(OR)
        if not any(includes(one, text) for one in several):
            return OR.join(several)
    return ""
