"""Addresses: placeholders such as `__GITLAB__`, and when two addresses are the same. Pure.

A site may be reached at several URLs; the first is the one that tasks are started at, and each of
them is read back as the placeholder. The rules of sameness are WebArena-Verified's.
"""

import base64
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import parse_qs, quote, unquote, urlparse, urlsplit, urlunparse, urlunsplit

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.rows import SITES

Query = Mapping[str, tuple[str, ...]]
"""Names and values, each name's values sorted."""

_BASE64 = re.compile(r"[A-Za-z0-9_-]{4,}={0,2}")
_PLACEHOLDER = re.compile(r"__([A-Z_]+?)__")
_PORTS = MappingProxyType({"http": "80", "https": "443"})
_AUTHORITY = ("http", "https", "ftp", "ftps")
_REPEATS = 3


def placeholder(site: str) -> str:
    """`__GITLAB__` of `gitlab`."""
    return f"__{site.upper()}__"


@dataclass(frozen=True, slots=True)
class Sites:
    """Where the sites are: their URLs without a trailing slash, the first being the one to use."""

    urls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def render(self, text: str) -> str:
        """Text with every site's placeholder replaced. Raises BadInputError for an unknown URL."""

        def put(found: re.Match[str]) -> str:
            site = found.group(1).lower()
            if site not in SITES:
                return found.group(0)
            if not self.urls.get(site):
                raise BadInputError(
                    f"{text[:80]!r} needs the site {site}, whose URL is not known: "
                    f"set {site.upper()}"
                )
            return self.urls[site][0]

        return _PLACEHOLDER.sub(put, text)

    def derender(self, text: str, among: Sequence[str]) -> str:
        """Text with the URL of one of these sites as its placeholder; the longest goes first."""
        ordered = sorted(among, key=lambda site: -max(map(len, self.urls.get(site, ("",)))))
        for site in ordered:
            for url in self.urls.get(site, ()):
                if url and url in text:
                    return text.replace(url, placeholder(site))
        return text


def sites_at(urls: Mapping[str, str | Iterable[str]]) -> Sites:
    """Sites of given URLs; a trailing slash is dropped, since it would double in every address."""
    made = {}
    for site, given in urls.items():
        several = (given,) if isinstance(given, str) else tuple(given)
        if site not in SITES:
            raise BadInputError(f"no site {site!r}: there are {', '.join(SITES)}")
        wrong = [url for url in several if not url.startswith(("http://", "https://"))]
        if wrong or not several:
            raise BadInputError(f"the URL of {site} must begin with http:// or https://: {given!r}")
        made[site] = tuple(url.rstrip("/") for url in several)
    return Sites(MappingProxyType(made))


@dataclass(frozen=True, slots=True)
class Reading:
    """How addresses are read: which sites may be in them, what of a query counts.

    `ignored`: names; `ignored_patterns`: what a name may contain; `base64`: a query may be hidden
    in the path.
    """

    sites: Sites
    among: Sequence[str]
    ignored: frozenset[str] = frozenset()
    ignored_patterns: tuple[str, ...] = ()
    base64: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """An address to compare.

    `base`: all but the query, with placeholders; `full`: the same without them; of a pattern
    `^...$` both are the pattern, as it is matched against a full address.
    """

    base: str
    full: str
    query: Query = field(default_factory=dict)
    pattern: bool = False

    def same_place(self, other: "Address") -> bool:
        """Whether the other, which was given, is the place that was expected; case does not count.

        Queries do not count either. Upstream lets the given one be a pattern, too.
        """
        if self.pattern and re.match(self.full, other.full):
            return True
        if other.pattern and is_tame(other.full) and re.match(other.full, self.full):
            return True
        if self.pattern or other.pattern:
            return False
        return self.base.lower().rstrip("/") == other.base.lower().rstrip("/")


def is_pattern(value: object) -> bool:
    """Whether a value is a pattern, by its anchors: `^...$`."""
    return isinstance(value, str) and len(value) > 1 and value[0] == "^" and value[-1] == "$"


def is_tame(pattern: str) -> bool:
    """Whether a pattern that an agent gave may be tried: it cannot keep a grader busy for ever."""
    return "(" not in pattern and sum(map(pattern.count, "*+{")) <= _REPEATS


def read_address(url: str, reading: Reading, query: Query | None = None) -> Address:
    """An address. `query` replaces the URL's own. Raises ValueError if it is none."""
    url = url.strip()
    if not url:
        raise ValueError("an empty address")
    if is_pattern(url):
        inner = url[1:-1]
        full = f"^{reading.sites.render(inner) if inner.startswith('__') else inner}$"
        return Address(full, full, _counted(query or {}, reading), pattern=True)
    url = url.rstrip("/")
    if url.startswith("__"):
        url = reading.sites.render(url)
    if _ssh(url):
        return Address(_ssh_base(url), _ssh_base(url))
    parts = urlparse(reading.sites.derender(canonical(url), reading.among))
    path = f"{parts.path};{parts.params}" if parts.params else parts.path
    hidden: list[str] = []
    if reading.base64 and query is None:
        path, hidden = _unhide(path)
    own = "&".join([*hidden, *([parts.query.strip()] if parts.query else [])])
    base = urlunparse((parts.scheme.lower(), parts.netloc.lower(), path, "", "", parts.fragment))
    full = reading.sites.render(base) if base.startswith("__") else base
    return Address(base, full, _counted(_parsed(own) if query is None else query, reading))


def canonical(url: str) -> str:
    """A URL with one spelling: escapes, dots in the path, default port, case of scheme and host."""
    url = _with_scheme(url.strip()).replace("#!", "?_escaped_fragment_=").rstrip("&? ")
    scheme, netloc, path, query, fragment = urlsplit(url)
    scheme = scheme.lower()
    user, _, place = netloc.rpartition("@")
    host, _, port = place.partition(":")
    host = ".".join(part for part in host.lower().strip(".").split(".") if part)
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    place = host + (f":{port}" if port and port != _PORTS.get(scheme) else "")
    return urlunsplit(
        (
            scheme,
            f"{user}@{place}" if user else place,
            _path(path, scheme),
            _respelt_query(query),
            _respelt(fragment, "~="),
        )
    )


def _with_scheme(url: str) -> str:
    if ":" not in url[:7]:
        return url if url.startswith("/") else f"https://{url}"
    scheme, _, rest = url.partition(":")
    return f"{scheme}://{rest.lstrip('/')}" if scheme.lower() in _AUTHORITY else url


def _respelt(text: str, safe: str) -> str:
    return quote(unicodedata.normalize("NFC", unquote(text)), safe)


def _path(path: str, scheme: str) -> str:
    parts = _respelt(path, "~:/#[]@!$&'()*+,;=").split("/")
    if scheme not in ("", "http", "https", "ftp", "file"):
        return "/".join(parts)
    kept: list[str] = []
    for part in parts:
        if part == "..":
            del kept[max(1, len(kept) - 1) :]
        elif part not in ("", ".") or not (part or kept):
            kept.append(part)
    if parts[-1] in ("", ".", ".."):
        kept.append("")
    return "/".join(kept) or "/"


def _respelt_query(query: str) -> str:
    spelt = []
    for item in query.split("&"):
        name, _, value = item.partition("=")
        if item:
            name, value = (_respelt(part, "~:/?[]@!$'()*+,;") for part in (name, value))
            spelt.append(f"{name}={value}" if value else name)
    return "&".join(spelt)


def _ssh(url: str) -> bool:
    low = url.lower()
    return low.startswith("ssh://") or (low.startswith("git@") and ":" in url and "://" not in url)


def _ssh_base(url: str) -> str:
    """Of a repository's address, whichever way it is written: the host does not count."""
    if url.lower().startswith("ssh://"):
        parts = urlparse(url)
        user = parts.netloc.split("@")[0] if "@" in parts.netloc else "git"
        return f"{user}@__SSH_HOST__:{parts.path.lstrip('/')}".lower().replace(
            "__ssh_host__", "__SSH_HOST__"
        )
    user, _, rest = url.partition("@")
    path = rest.partition(":")[2].lstrip("/")
    return f"{user.lower()}@__SSH_HOST__:{path.lower()}"


def _unhide(path: str) -> tuple[str, list[str]]:
    """The path without the segments that are queries in base64, and these queries."""
    kept, found = [], []
    for segment in path.split("/"):
        query = _decoded(segment) if _BASE64.fullmatch(segment) else None
        if query:
            found.append(query.lstrip("?&"))
        elif segment:
            kept.append(segment)
    whole = "/".join(kept)
    if not whole:
        return ("/" if path.startswith("/") else ""), found
    head, tail = "/" * path.startswith("/"), "/" * path.endswith("/")
    return f"{head}{whole}{tail}", found


def _decoded(segment: str) -> str | None:
    try:
        text = base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)).decode()
    except ValueError:
        return None
    return (unquote(text).strip() or None) if "=" in text else None


def _parsed(text: str) -> Query:
    return {
        unquote(name): tuple(sorted(unquote(value) for value in values))
        for name, values in parse_qs(text, keep_blank_values=True).items()
    }


def _counted(query: Query, reading: Reading) -> Query:
    """A query as compared: without what is ignored, its values in lower case and in order."""
    return {
        name: tuple(sorted(value.lower().strip() for value in values))
        for name, values in query.items()
        if name not in reading.ignored
        and not any(re.search(p, name, re.IGNORECASE) for p in reading.ignored_patterns)
    }
