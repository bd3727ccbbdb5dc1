"""What a browser did to sites whose database nobody can see: the requests that they carried out.

An effect is a request that writes and that its site did not refuse. It is known by where it went
and what it held, but for what differs from one sending to the next (tokens). Pure.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hfr_bench.faults.web import route_of
from hfr_bench.model.record import digest
from hfr_bench.model.terms import SideEffect
from hfr_bench.model.web import Route
from hfr_bench.suites.webarena.episode import Exchange

_ASKS = frozenset({"GET", "HEAD", "OPTIONS"})
_ONCE = (SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE)


@dataclass(frozen=True, slots=True)
class Write:
    """An effect. `name`: of its route, or "form" of a form that has none. `key`: natural key."""

    site: str
    name: str
    level: SideEffect
    key: str


def writes(
    exchanges: Iterable[tuple[str, Exchange]], routes: Sequence[Route], volatile: Sequence[str]
) -> tuple[Write, ...]:
    """The effects among exchanges of sites, in their order.

    A request of no route counts where it was a form that was sent, at R2; what scripts send
    without a route is taken for chatter. At R1 a repeat leaves the state as it is: the same request
    as the last one there is no effect.
    """
    found = []
    last: dict[tuple[str, str], str] = {}
    for site, one in exchanges:
        route = route_of(site, one.method, one.path, routes)
        if one.method in _ASKS or not _carried_out(one.status):
            continue
        if route is None and not _is_form(one):
            continue
        level = SideEffect.QUERYABLE if route is None else route.level
        if not level.writes:
            continue
        key = natural_key(site, one, volatile)
        if level is not SideEffect.IDEMPOTENT or last.get((site, one.path)) != key:
            found.append(Write(site, "form" if route is None else route.name, level, key))
        last[site, one.path] = key
    return tuple(found)


def natural_key(site: str, one: Exchange, volatile: Sequence[str]) -> str:
    """What a request did, as a digest: the same whenever it is sent anew."""

    def stays(name: str) -> bool:
        return not any(re.fullmatch(pattern, name) for pattern in volatile)

    parts = urlsplit(one.url)
    steps = [step for step in parts.path.split("/") if step]
    if "uenc" in steps:  # where to go back to
        at = steps.index("uenc")
        steps = steps[:at] + steps[at + 2 :]
    query = sorted((n, v) for n, v in parse_qsl(parts.query, keep_blank_values=True) if stays(n))
    held: Any = one.posted
    if held is None:
        held = one.post_data
    elif "json" in one.post_type:
        held = json.dumps({n: v for n, v in held.items() if stays(n)}, sort_keys=True)
    elif "multipart" in one.post_type:
        held = sorted((n, v) for n, v in held.items() if stays(n))
    else:  # every value of a name
        pairs = parse_qsl(one.post_data, keep_blank_values=True)
        held = sorted((n, v) for n, v in pairs if stays(n))
    return digest([site, one.method, steps, [list(pair) for pair in query], _plain(held)])


def repeats(done: Iterable[Write]) -> int:
    """How many effects were there already; what can be undone and done anew (R1) is left out."""
    counted = Counter(one.key for one in done if one.level in _ONCE)
    return sum(count - 1 for count in counted.values())


def gravest(done: Sequence[Write]) -> Write | None:
    """The effect that names an action that had several; the first of the gravest level."""
    order = list(SideEffect)
    return max(done, key=lambda one: order.index(one.level), default=None)


def _carried_out(status: int) -> bool:
    """Whether a site did what it was asked; of a request without an answer nobody knows: no."""
    return 200 <= status < 400


def _is_form(one: Exchange) -> bool:
    if one.header("x-requested-with"):
        return False
    mode = one.header("sec-fetch-mode")
    if mode is not None:
        return mode.lower() == "navigate"
    return (one.header("accept") or "").lower().startswith("text/html")


def _plain(held: Any) -> Any:
    return [list(pair) for pair in held] if isinstance(held, list) else held
