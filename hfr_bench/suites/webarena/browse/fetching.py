"""Pages over HTTP as a browser fetches them: its headers, cookies and redirects; never twice.

A connection serves one request, so that no request can be lost to one that had gone stale, and
nothing below us has a reason to send it again.
"""

import http.client
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import quote, urldefrag, urljoin, urlsplit, urlunsplit

from hfr_bench.suites.webarena.browse.driver import BROKEN, CLOSED, REFUSED, TIMEOUT, Cookie
from hfr_bench.suites.webarena.browse.har import Entry, header

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 20
_PLAIN = "%/:=&?~#+!$,;'@()*[]"
_LIKE_A_BROWSER = (
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("accept-language", "en-US"),
    ("accept-encoding", "identity"),
    ("connection", "close"),
    ("sec-fetch-dest", "document"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-user", "?1"),
    ("upgrade-insecure-requests", "1"),
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) hfr-bench"),
)


class Asked(NamedTuple):
    """A page to be fetched. `kind`: the media type of `body`."""

    url: str
    method: str = "GET"
    body: bytes = b""
    kind: str = ""
    referer: str = ""


@dataclass(slots=True)
class Jar:
    """Cookies by host, path and name, as a session keeps them."""

    _kept: dict[tuple[str, str, str], str] = field(default_factory=dict)
    _wide: set[tuple[str, str, str]] = field(default_factory=set)

    def put(self, cookie: Cookie, host: str) -> None:
        """A cookie to begin with."""
        self._kept[cookie.domain.lstrip(".") or host, cookie.path, cookie.name] = cookie.value

    def read(self, url: str, headers: Iterable[tuple[str, str]]) -> None:
        """Keep, or drop, what an answer's `Set-Cookie` headers say."""
        for name, value in headers:
            if name.lower() == "set-cookie":
                self._set(url, value)

    def header(self, url: str) -> str:
        """The `Cookie` header for a URL; "" without any."""
        parts = urlsplit(url)
        host, path = parts.hostname or "", parts.path or "/"
        found = [
            (len(where), f"{name}={value}")
            for (domain, where, name), value in self._kept.items()
            if self._fits(host, (domain, where, name)) and _within(path, where)
        ]
        return "; ".join(text for _, text in sorted(found, key=lambda one: -one[0]))

    def _fits(self, host: str, key: tuple[str, str, str]) -> bool:
        return host == key[0] or (key in self._wide and host.endswith(f".{key[0]}"))

    def _set(self, url: str, line: str) -> None:
        parts = urlsplit(url)
        first, *rest = line.split(";")
        name, _, value = (part.strip() for part in first.partition("="))
        told = {}
        for one in rest:
            word, _, said = one.partition("=")
            told[word.strip().lower()] = said.strip()
        domain = told.get("domain", "").lstrip(".").lower()
        host = parts.hostname or ""
        if domain and host != domain and not host.endswith(f".{domain}"):
            return
        path = told.get("path", "")
        if not path.startswith("/"):
            path = parts.path.rpartition("/")[0] or "/"
        key = (domain or host, path, name)
        if _over(told):
            self._kept.pop(key, None)
            return
        self._kept[key] = value
        if domain:
            self._wide.add(key)


def _within(path: str, where: str) -> bool:
    return path == where or path.startswith(where if where.endswith("/") else f"{where}/")


def _over(told: dict[str, str]) -> bool:
    """Whether a cookie is set only to be dropped."""
    if age := told.get("max-age"):
        return age.lstrip("-").isdigit() and int(age) <= 0
    try:
        return parsedate_to_datetime(told["expires"]).timestamp() <= time.time()
    except (KeyError, ValueError, TypeError):
        return False


@dataclass(slots=True)
class Fetcher:
    """Fetches pages, keeps cookies, and writes down every request."""

    jar: Jar = field(default_factory=Jar)
    entries: list[Entry] = field(default_factory=list)

    def page(self, asked: Asked, timeout_s: float, *, told: bool = True) -> Entry:
        """The page at the end of all redirects, or how it failed to come.

        `told`: its requests are written down.
        """
        deadline_s = time.monotonic() + timeout_s
        for _ in range(_MOST_REDIRECTS):
            entry = self._once(asked, deadline_s - time.monotonic())
            if told:
                self.entries.append(entry)
            self.jar.read(entry.url, entry.answer)
            where = header(entry.answer, "location")
            if entry.failure or entry.status not in _REDIRECTS or not where:
                return entry
            asked = _onwards(asked, entry, where)
        entry.failure = BROKEN
        return entry

    def _once(self, asked: Asked, left_s: float) -> Entry:
        url = _as_sent(asked.url)
        headers = self._headers(asked, url)
        entry = Entry(asked.method, url, headers, asked.body, time.time())
        began_s = time.monotonic()
        try:
            if left_s <= 0:
                raise TimeoutError
            _exchange(entry, asked, left_s)
        except TimeoutError:
            entry.failure = TIMEOUT
        except (http.client.IncompleteRead, http.client.BadStatusLine) as error:
            none = isinstance(error, http.client.RemoteDisconnected)
            entry.failure = CLOSED if none else BROKEN
        except (http.client.HTTPException, ValueError):
            entry.failure = BROKEN
        except (ConnectionRefusedError, socket.gaierror):
            entry.failure = REFUSED
        except OSError:
            entry.failure = CLOSED if entry.status < 0 else BROKEN
        entry.took_s = time.monotonic() - began_s
        return entry

    def _headers(self, asked: Asked, url: str) -> list[tuple[str, str]]:
        headers = [("host", urlsplit(url).netloc), *_LIKE_A_BROWSER]
        if asked.referer:
            headers.append(("referer", urldefrag(asked.referer)[0]))
        if asked.method == "POST":
            parts = urlsplit(asked.referer or url)
            headers.append(("origin", f"{parts.scheme}://{parts.netloc}"))
            headers.append(("content-length", str(len(asked.body))))
            headers.append(("content-type", asked.kind))
        if cookies := self.jar.header(url):
            headers.append(("cookie", cookies))
        return headers


def _as_sent(url: str) -> str:
    """A URL as it stands in a request: without its fragment, whole, in ASCII."""
    parts = urlsplit(urldefrag(url)[0])
    return quote(urlunsplit(parts._replace(path=parts.path or "/")), _PLAIN)


def _exchange(entry: Entry, asked: Asked, left_s: float) -> None:
    """One request on a connection of its own. Raises OSError, HTTPException or ValueError."""
    parts = urlsplit(entry.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"not a web address: {entry.url}")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    # As browsers have it (RFC 6761): names under localhost are this machine.
    local = parts.hostname == "localhost" or parts.hostname.endswith(".localhost")
    link = kind("127.0.0.1" if local else parts.hostname, parts.port, timeout=left_s)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        link.putrequest(asked.method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in entry.headers:
            link.putheader(name, value)
        link.endheaders(asked.body or None)
        answer = link.getresponse()
        entry.status, entry.answer = answer.status, answer.getheaders()
        try:
            entry.content = answer.read()
        except http.client.IncompleteRead as error:
            entry.content = error.partial
            raise
    finally:
        link.close()


def _onwards(asked: Asked, entry: Entry, where: str) -> Asked:
    """Where a redirect leads, and how: 307 and 308 repeat the method, the others ask for a page."""
    url = urljoin(entry.url, where)
    keeps = entry.status in (307, 308) or asked.method == "GET"
    return asked._replace(url=url) if keeps else Asked(url, referer=asked.referer)
