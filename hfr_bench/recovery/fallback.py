"""Rung L4 without a person (third seed): a kept answer to a like request, or a rule's template.

For what only informs: model answers and reads. Nobody makes up the answer of a write.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from string import Template
from typing import NamedTuple

from hfr_bench.model.terms import Rung, SideEffect
from hfr_bench.recovery.ladder import Offer

Similarity = Callable[[str, str], float]

# Han, kana and hangul character by character; of everything else, words and numbers.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\uffff]+")


class Kept(NamedTuple):
    """An answer worth keeping. `quality`: 0..1, measured; None = not known."""

    name: str
    request: str
    answer: str
    quality: float | None = None


class Rule(NamedTuple):
    """If all `words` occur in the request, say `template` with its `$names` filled in."""

    name: str
    words: tuple[str, ...]
    template: str
    quality: float | None = None


class Fallback(NamedTuple):
    """An offer for the ladder, and the answer that it stands for."""

    offer: Offer
    answer: str


def overlap(one: str, other: str) -> float:
    """Likeness 0..1: shared tokens over all tokens (Jaccard), case and width ignored.

    0 where the numbers differ, one by one: order 17 is not nearly order 18. Word order is not
    looked at, so that a similarity of one's own is the better one where direction matters.
    """
    a, b = tokens(one), tokens(other)
    if not a or not b or _numbers(a) != _numbers(b):
        return 0.0
    mine, its = set(a), set(b)
    return len(mine & its) / len(mine | its)


def tokens(text: str) -> list[str]:
    """The words of a text in order, lower case; in scripts without spaces, its characters."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def cached(
    entries: Iterable[Kept],
    request: str,
    *,
    threshold: float,
    level: SideEffect = SideEffect.READ,
    similarity: Similarity = overlap,
) -> Fallback | None:
    """The answer of the most similar request at or above the threshold; the first of equals.

    An answer from likeness is worth no more than the likeness: the quality is scaled by it.
    """
    if level.writes:
        return None
    best: Kept | None = None
    likeness = 0.0
    for entry in entries:
        found = similarity(entry.request, request)
        if found >= threshold and (best is None or found > likeness):
            best, likeness = entry, found
    if best is None:
        return None
    quality = None if best.quality is None else best.quality * min(1.0, likeness)
    return Fallback(Offer(Rung.FALLBACK, "cache", best.name, quality), best.answer)


def ruled(
    rules: Iterable[Rule],
    request: str,
    facts: Mapping[str, str],
    *,
    level: SideEffect = SideEffect.READ,
) -> Fallback | None:
    """The first rule that fits and whose template can be filled; never one half filled."""
    if level.writes:
        return None
    said = set(tokens(request))
    for rule in rules:
        if not all(said.issuperset(tokens(word)) for word in rule.words):
            continue
        try:
            answer = Template(rule.template).substitute(facts)
        except (KeyError, ValueError):  # a fact is missing, or the template is no template
            continue
        return Fallback(Offer(Rung.FALLBACK, "template", rule.name, rule.quality), answer)
    return None


def _numbers(words: list[str]) -> list[str]:
    return [word for word in words if any(c.isnumeric() for c in word)]
