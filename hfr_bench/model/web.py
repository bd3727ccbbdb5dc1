"""Faults between a browser and its sites, and what is written down of each request there.

A route names a kind of request. The effects are members of the `Wire` union (`model.schedule`),
for the dialect `web`; the two records are bodies of a trace.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from hfr_bench.model.record import Record, text_digest
from hfr_bench.model.terms import SideEffect

DIALECT = "web"
PREFIX = "web:"
"""Of the points at which requests meet faults: `web:POST new_item`."""
SITE = "site:"
"""Of the points at which a call meets a site that takes no connection: `site:shop`."""


@dataclass(frozen=True, slots=True)
class Route:
    """A kind of request of a site. `path`: with `{}` for one part of it (`/f/{}/{}`).

    `name`: as in points (`web:POST submit`); of two routes of one method and name both are meant.
    `level`: what such a request does to the world.
    """

    site: str
    method: str
    path: str
    name: str
    level: SideEffect = SideEffect.READ


class Discard(Record):
    """The site gets the request and answers; its answer is thrown away, and this one goes out."""

    type: Literal["discard"] = "discard"
    status: int = Field(ge=100, le=599)
    headers: dict[str, str] = {}
    body: str = ""
    forward: Literal[True] = True


class Cookieless(Record):
    """The request goes on without its cookies; the site's own answer to that comes back.

    `for_good`: those very cookies are dead from now on, until the site gives out others: the
    session has expired. A request that has none does not meet the fault.
    """

    type: Literal["cookieless"] = "cookieless"
    for_good: bool = False
    forward: Literal[True] = True


class Refuse(Record):
    """No connection to the site comes about, for as long as one attempt of a call lasts."""

    type: Literal["refuse"] = "refuse"
    forward: Literal[False] = False


class Meddle(Record):
    """Somebody else changes something at the sites; then the site gets the request, and answers.

    `what`: a name that the world knows (`ports.web.Meddled`). Where there is nothing to change the
    event is not met.
    """

    type: Literal["meddle"] = "meddle"
    what: str
    forward: Literal[True] = True


WebEffect = Discard | Cookieless | Refuse | Meddle


def address(site: str, target: str) -> str:
    """A request's target as traces name it: whatever the port, and without the words of a query."""
    path, asked, query = target.partition("?")
    return f"{site}:{path}{asked}{text_digest(query)[:16] if query else ''}"


class WebHit(Record):
    """Truth: a request reached the proxy before a site, at a route that has a name.

    `url`: what was asked for, as `address` tells it. `at_us`: trial time. `told`: the step and
    attempt were named by whoever made the tool's call. `forwarded`: the site got it, and
    `upstream_status`, `upstream_digest` are its answer's; `page`: that was a good page (2xx, HTML)
    with something in it. `status`, `response_digest`: what went out; null and "" if nothing whole
    did. `cookies`: how many cookies came, `passed_cookies`: how many the site got. `stall_us`: how
    long nothing came, on a virtual clock. `meddled`: what else was changed at the sites before it
    got there. `injection_id`, `kind`: never read by the audit.
    """

    type: Literal["web_hit"] = "web_hit"
    site: str
    method: str
    url: str
    point: str
    occurrence: int
    attempt: int
    at_us: int = 0
    told: bool = False
    level: SideEffect = SideEffect.READ
    forwarded: bool = False
    upstream_status: int | None = None
    upstream_digest: str = ""
    page: bool = False
    status: int | None = None
    response_digest: str = ""
    retry_after: str | None = None
    cookies: int = 0
    passed_cookies: int = 0
    stall_us: int = 0
    meddled: str = Field(default="", exclude_if=lambda what: not what)
    injection_id: str | None = None
    kind: str | None = None


class WebSeen(Record):
    """What the browser itself says of one of its requests: the other end's witness.

    `url`: as the browser has it; in a trace, of a site's as `address` tells it.

    `exception`: why no whole answer came. `response_digest`: of the body; "" where the browser does
    not tell (redirects).
    """

    type: Literal["web_seen"] = "web_seen"
    method: str
    url: str
    status: int | None = None
    exception: str | None = None
    response_digest: str = ""
    retry_after: str | None = None
