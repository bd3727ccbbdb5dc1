"""What happened in a browser, as evaluators read it. Pure: it holds no page and opens no socket.

An **exchange** is one HTTP request and its answer, as a HAR entry has it; an **episode** is a whole
trial: the answer, where the agent ended, every exchange in order, and two ways of asking a *living*
site once more (`look`, `rest`), which only WebArena's own evaluator needs. HAR is version 1.2, as
Playwright writes it; what evaluators do not read (timings, sizes) is not kept.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from hfr_bench.errors import BadInputError

Pairs = tuple[tuple[str, str], ...]
"""Names and values in order; a name may come twice."""

Look = Callable[[str | None, str], str]
"""(url, locator) -> text. url None: the page as the agent left it; locator "": the whole page's
HTML, else a JavaScript expression. What the expression cannot find is ""; an answer that is no
page at all raises InfrastructureError, because then nothing was graded."""

Rest = Callable[[str, str, Mapping[str, str], str], tuple[int, str]]
"""(method, url, headers, body) -> status, body: a call of a site's own API by the grader."""

DROPPED = -1
"""The status of an exchange that got no answer."""

_STATIC = (
    *(".css", ".js", ".png", ".jpg", ".jpeg", ".gif", ".svg"),
    *(".woff", ".woff2", ".ttf", ".ico", ".webp"),
)
_EPOCH = "1970-01-01T00:00:00.000Z"
_BOUNDARY = re.compile(r"boundary=([^;\s]+)")
_FIELD = re.compile(r'name="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer.

    `status`: the answer's, DROPPED if there was none (0 in some recordings). `post_type` and
    `body_type`: media types with their parameters. `cookies`: those the answer set. `started_at`:
    ISO 8601 or "".
    """

    method: str
    url: str
    status: int
    request_headers: Pairs = ()
    post_data: str = ""
    post_type: str = ""
    response_headers: Pairs = ()
    body: str = ""
    body_type: str = ""
    cookies: Pairs = ()
    redirect_url: str = ""
    started_at: str = ""

    @property
    def path(self) -> str:
        """The URL's path, without its query."""
        return urlsplit(self.url).path

    @property
    def asset(self) -> bool:
        """Whether it only fetched what a page is decorated with: style sheets, pictures, fonts."""
        return self.path.endswith(_STATIC)

    @property
    def navigates(self) -> bool:
        """Whether a page was asked for, as by a click or an address typed in."""
        if self.method != "GET":
            return False
        accept = (self.header("accept") or "").lower()
        if (user := self.header("sec-fetch-user")) is not None:
            wanted = (("sec-fetch-dest", "document"), ("sec-fetch-mode", "navigate"))
            held = all((self.header(name) or "").lower() == value for name, value in wanted)
            return held and user == "?1" and "text/html" in accept
        return accept.startswith("text/html")

    def header(self, name: str) -> str | None:
        """A request header by its name in any case; of several the last; None if there is none."""
        found = [v for n, v in self.request_headers if n.lower() == name.lower()]
        return found[-1] if found else None

    @property
    def posted(self) -> dict[str, Any] | None:
        """The request's body as names and values; None if it has no such form."""
        return read_body(self.post_data, self.post_type)

    @property
    def answered(self) -> dict[str, Any] | None:
        """The answer's body as names and values; None if it has no such form."""
        return read_body(self.body, self.body_type)

    @property
    def set_cookies(self) -> dict[str, str]:
        """The cookies that the answer set, with their values unquoted."""
        return {name: unquote(value) for name, value in self.cookies}


def nowhere(url: str | None, locator: str) -> str:
    """The `look` of an episode without a living site: refuses."""
    raise BadInputError(
        f"the grader must look at {url or 'the last page'} ({locator or 'whole'}), but this "
        "episode is a recording: grade it while its sites live, or choose tasks that need no site"
    )


def unreachable(method: str, url: str, *_: object) -> tuple[int, str]:
    """The `rest` of an episode without a living site: refuses."""
    raise BadInputError(f"the grader must ask {method} {url}, but this episode is a recording")


@dataclass(frozen=True, slots=True)
class Episode:
    """A trial as evaluators read it.

    `answer`: what the agent answered, verbatim (for Verified: JSON), None if nothing; `url`: of the
    tab in front at the end; `tabs`: the URLs of all tabs at the end, in order.
    """

    answer: str | None = None
    url: str = ""
    exchanges: tuple[Exchange, ...] = ()
    tabs: tuple[str, ...] = ()
    look: Look = nowhere
    rest: Rest = unreachable


def read_body(text: str, kind: str) -> dict[str, Any] | None:
    """A body as names and values: a form (the first value of a name), a JSON object, multipart."""
    if not text:
        return None
    if "application/x-www-form-urlencoded" in kind:
        return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}
    if "application/json" in kind:
        try:
            value = json.loads(text)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None
    if "multipart/form-data" in kind and (found := _BOUNDARY.search(kind)):
        return cast("dict[str, Any]", _multipart(text, found.group(1)))
    return None


def _multipart(text: str, boundary: str) -> dict[str, str]:
    fields = {}
    for part in text.split(f"--{boundary}"):
        head, gap, body = part.strip().replace("\r\n", "\n").partition("\n\n")
        for line in head.split("\n") if gap else ():
            named = _FIELD.search(line)
            if named and line.lower().startswith("content-disposition:"):
                fields[named.group(1)] = body.rstrip("\n")
                break
    return fields


def from_har(har: Mapping[str, Any], where: str = "HAR") -> tuple[Exchange, ...]:
    """The exchanges of a HAR, in its order. Raises BadInputError naming entry and field."""
    try:
        entries = har["log"]["entries"]
    except (KeyError, TypeError):
        raise BadInputError(f"{where}: no HAR, it has no log.entries") from None
    return from_entries(entries, where)


def from_entries(entries: Iterable[Mapping[str, Any]], where: str = "HAR") -> tuple[Exchange, ...]:
    """The exchanges of HAR entries, or of the lines of a Playwright trace (`resource-snapshot`)."""
    found = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise BadInputError(f"{where}: entry {number}: not an object, {type(entry).__name__}")
        traced = "type" in entry and "request" not in entry
        if traced and entry["type"] != "resource-snapshot":
            continue
        try:
            found.append(_exchange(entry["snapshot"] if traced else entry))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInputError(
                f"{where}: entry {number} is not as HAR 1.2 has it: {type(error).__name__}: {error}"
            ) from None
    return tuple(found)


def _exchange(entry: Mapping[str, Any]) -> Exchange:
    request, response = entry["request"], entry["response"]
    post = request.get("postData") or {}
    content = response.get("content") or {}
    binary = content.get("encoding") == "base64"
    return Exchange(
        method=str(request["method"]),
        url=str(request["url"]),
        status=int(response["status"]),
        request_headers=_pairs(request.get("headers") or ()),
        post_data=post.get("text") or "",
        post_type=post.get("mimeType") or "",
        response_headers=_pairs(response.get("headers") or ()),
        body="" if binary else content.get("text") or "",
        body_type=content.get("mimeType") or "",
        cookies=_pairs(response.get("cookies") or ()),
        redirect_url=response.get("redirectURL") or "",
        started_at=_moment(entry.get("startedDateTime")),
    )


def _pairs(items: Sequence[Mapping[str, Any]]) -> Pairs:
    return tuple((str(item["name"]), str(item.get("value", ""))) for item in items)


def _moment(value: Any) -> str:
    return "" if value in (None, _EPOCH) else str(value)


def to_har(exchanges: Iterable[Exchange]) -> dict[str, Any]:
    """The exchanges as a HAR; sizes and timings are unknown (-1), a start unknown is the epoch."""
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "hfr-bench", "version": "1"},
            "entries": [_entry(exchange) for exchange in exchanges],
        }
    }


def _entry(exchange: Exchange) -> dict[str, Any]:
    query = parse_qs(urlsplit(exchange.url).query, keep_blank_values=True)
    request: dict[str, Any] = {
        "method": exchange.method,
        "url": exchange.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _items(exchange.request_headers),
        "queryString": _items((n, value) for n, values in query.items() for value in values),
        "headersSize": -1,
        "bodySize": -1,
    }
    if exchange.post_data or exchange.post_type:
        request["postData"] = {
            "mimeType": exchange.post_type,
            "params": [],
            "text": exchange.post_data,
        }
    return {
        "startedDateTime": exchange.started_at or _EPOCH,
        "time": -1,
        "request": request,
        "response": {
            "status": exchange.status,
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "cookies": _items(exchange.cookies),
            "headers": _items(exchange.response_headers),
            "content": {"size": -1, "mimeType": exchange.body_type, "text": exchange.body},
            "redirectURL": exchange.redirect_url,
            "headersSize": -1,
            "bodySize": -1,
        },
        "cache": {},
        "timings": {"send": -1, "wait": -1, "receive": -1},
    }


def _items(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]
