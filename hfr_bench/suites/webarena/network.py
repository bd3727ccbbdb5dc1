"""WebArena-Verified's check of the HTTP exchanges: was the expected request made, and answered so?

Pure. Exchanges are chosen by method, place and referer; then only the **last** of these counts
(`last_event_only`, by default on), and every field that the task names must agree: query, headers,
form, status, answer, cookies. A navigating task's GET is held against the last navigation alone.

The status is one of these fields, 200 if the task names none. So a request that was carried out but
answered 503 fails the check, and passes once it is sent again: see docs/webarena.md.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.episode import Exchange
from hfr_bench.suites.webarena.paths import is_path, pick
from hfr_bench.suites.webarena.shape import Reader, difference
from hfr_bench.suites.webarena.typed import Value
from hfr_bench.suites.webarena.urls import Address, Reading, Sites, read_address
from hfr_bench.suites.webarena.verdict import Check

NAME = "NetworkEventEvaluator"
_ADDRESSES = ("referer", "redirect_url")
"""Headers that are compared as addresses."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One check, as the task has it."""

    grading: Mapping[str, Any]
    reading: Reading
    navigates: bool

    @property
    def expected(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.grading["expected"]
        return found

    @property
    def method(self) -> str:
        return str(self.expected.get("http_method") or "GET")


def reading_of(grading: Mapping[str, Any], sites: Sites, among: Sequence[str]) -> Reading:
    """How a check reads addresses."""
    return Reading(
        sites=sites,
        among=among,
        ignored=frozenset(grading.get("ignored_query_params") or ()),
        ignored_patterns=tuple(grading.get("ignored_query_params_patterns") or ()),
        base64=bool(grading.get("decode_base64_query")),
    )


def check_exchanges(asked: Asked, exchanges: Iterable[Exchange]) -> Check:
    """Whether the exchanges hold what the task expects (or hold it not: `should_not_exist`)."""
    try:
        return _checked(asked, [exchange for exchange in exchanges if not exchange.asset])
    except BadInputError:
        raise
    except (ValueError, TypeError, re.error) as error:
        return Check(NAME, False, f"the task's own expectation cannot be read: {error}")


def _checked(asked: Asked, exchanges: list[Exchange]) -> Check:
    expected = _expected(asked)
    found = _chosen(asked, exchanges)
    what = f"{asked.method} {_first_url(asked.expected['url'])}"
    if asked.grading.get("should_not_exist"):
        return Check(NAME, not found, f"{what} was requested" if found else "")
    if not found:
        return Check(NAME, False, f"no {what}")
    if asked.grading.get("last_event_only", True):
        found = found[-1:]
    apart = [difference(expected, _actual(asked, one), more=True) for one in found]
    return Check(NAME, "" in apart, "" if "" in apart else f"{what}: {apart[-1]}")


def _chosen(asked: Asked, exchanges: list[Exchange]) -> list[Exchange]:
    """Those that the check is about."""
    if asked.navigates and asked.method == "GET":
        return [exchange for exchange in exchanges if exchange.navigates][-1:]
    place = _addresses(asked.expected["url"], asked.reading)
    headers = asked.expected.get("headers") or {}
    referer = _addresses(headers["referer"], asked.reading) if "referer" in headers else ()
    chosen = []
    for exchange in exchanges:
        if exchange.method.lower() != asked.method.lower():
            continue
        if not _among(place, exchange.url, asked.reading):
            continue
        came_from = exchange.header("referer")
        if referer and came_from and not _among(referer, came_from, asked.reading):
            continue
        chosen.append(exchange)
    return chosen


def _among(places: tuple[Address, ...], url: str, reading: Reading) -> bool:
    try:
        found = read_address(url, reading)
    except ValueError:  # such as about:blank: no address of a site
        return False
    return any(place.same_place(found) for place in places)


def _first_url(url: Any) -> str:
    return str(url if isinstance(url, str) else url[0])


def _addresses(
    url: Any, reading: Reading, query: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[Address, ...]:
    if not isinstance(url, str) and len(url) < 2:
        raise ValueError(f"{url!r}: a list of alternatives has two or more")
    several = (url,) if isinstance(url, str) else tuple(url)
    return tuple(read_address(one, reading, query) for one in several)


def _expected(asked: Asked) -> dict[str, Any]:
    """What the task expects, read: one entry a field that counts."""
    given, reader = asked.expected, Reader(asked.reading, strict=True)
    query = given.get("query_params")
    if query is not None:
        query = {name: (v,) if isinstance(v, str) else tuple(v) for name, v in query.items()}
    expected: dict[str, Any] = {
        "url": _url(asked, given["url"], reader, query),
        "http_method": asked.method,
        "response_status": given.get("response_status", 200),
        "post_data": None,
        "response_content": given.get("response_content") or None,
        "response_cookies": None,
    }
    if given.get("headers") is not None:
        expected["headers"] = _headers(asked, given["headers"], reader)
    if form := given.get("post_data"):
        expected["post_data"] = _form(asked, _unignored(asked, form), reader)
    if cookies := given.get("response_cookies"):
        expected["response_cookies"] = {
            name: reader.single(value, "string") for name, value in cookies.items()
        }
    return expected


def _actual(asked: Asked, exchange: Exchange) -> dict[str, Any]:
    """An exchange, read as far as the task asks."""
    given, reader = asked.expected, Reader(asked.reading, strict=False)
    actual: dict[str, Any] = {
        "url": _url(asked, exchange.url, reader, None),
        "http_method": exchange.method,
        "response_status": exchange.status,
        "post_data": None,
        "response_content": None,
        "response_cookies": None,
    }
    headers = {
        name: held
        for name in given.get("headers") or {}
        if (held := exchange.header(name)) is not None
    }
    if headers:
        actual["headers"] = _headers(asked, headers, reader)
    if given.get("post_data") and (form := exchange.posted):
        wanted = _unignored(asked, given["post_data"])
        actual["post_data"] = _form(asked, _picked(wanted, _unignored(asked, form)), reader)
    if given.get("response_content") and (body := exchange.answered):
        picked = _picked(given["response_content"], body)
        actual["response_content"] = {
            name: held for name, held in picked.items() if is_path(name) or name in body
        }
    cookies = exchange.set_cookies
    names = [name for name in given.get("response_cookies") or () if name in cookies]
    if names:
        actual["response_cookies"] = {n: reader.single(cookies[n], "string") for n in names}
    return actual


def _url(
    asked: Asked, url: Any, reader: Reader, query: Mapping[str, tuple[str, ...]] | None
) -> Value | None:
    try:
        found = _addresses(url, asked.reading, query)
    except ValueError:
        if reader.strict:
            raise
        return None
    schema = asked.grading.get("query_params_schema")
    if schema:
        found = tuple(
            Address(one.base, one.full, reader.mapping(one.query, schema), one.pattern)
            for one in found
        )
    return Value("url", found)


def _headers(asked: Asked, headers: Mapping[str, Any], reader: Reader) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in headers.items():
        if name in _ADDRESSES and value:
            read[name] = _url(asked, value, reader, None)
        else:
            text = asked.reading.sites.derender(str(value), asked.reading.among)
            read[name] = reader.single(text, "string")
    return read


def _unignored(asked: Asked, form: Mapping[str, Any]) -> dict[str, Any]:
    patterns = asked.grading.get("ignored_post_data_params_patterns") or ()
    return {n: v for n, v in form.items() if not any(re.search(p, n) for p in patterns)}


def _picked(names: Iterable[str], body: Mapping[str, Any]) -> dict[str, Any]:
    """The body's values of these names and paths; None for what it lacks."""
    return {name: pick(body, name) if is_path(name) else body.get(name) for name in names}


def _form(asked: Asked, form: Mapping[str, Any], reader: Reader) -> Any:
    if not form:
        return dict(form)
    return reader.mapping(form, asked.grading.get("post_data_schema") or {})
