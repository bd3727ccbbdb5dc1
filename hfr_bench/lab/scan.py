"""Looks for secrets, and for names of this machine, in what is about to be given away.

A hit tells file, line and rule, never what was found there. Secrets of the environment are looked
for in the forms that programs give them, and `lab.folding` looks through other layouts of them.
"""

import base64
import html
import json
import platform
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from hfr_bench.lab.folding import Folded, found, unpacked

SHORTEST = 8
"""Values of the environment that are shorter than this are no secrets worth the name."""

# Names under which a program is given a secret, also one of several ($OPENAI_API_KEY_2).
_SECRET = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|_PASS|_PWD|_PAT)(?:_?\d+)?$", re.I
)
# A value of any name may be a URL with a password in it ($DATABASE_URL, $HTTPS_PROXY).
_IN_URL = re.compile(r"://[^\s/@:]*:([^\s/@]+)@")
# Host names that say nothing, and words of two or three letters, are everywhere in prose.
_HOST_SHORTEST = 5

_NAMED = (
    r"(?i)(?:passw(?:or)?d|passphrase|secret|auth[-_ ]?token"
    r"|(?:api|access|account|private)[-_ ]?key)"
    r"[\"'\\]*\s*[:=]\s*[\"'\\]*"
    r"(?=[^\s\"',;&\\]*[0-9])(?=[^\s\"',;&\\]*[a-z])[^\s\"',;&\\\[\]]{8,}"
)
"""`password=...`: what is all letters or all digits may be a word or a length."""

_HEADER = (
    r"(?i:bearer|authorization[\"'\\]*: ?[\"'\\]*basic) "
    r"(?=[A-Za-z_~+/.-]*[0-9])[A-Za-z0-9_~+/.=-]{20,}"
)

# Parts of these names, in small letters and run together; `key` alone is on every line of a trace.
_NAMES = (
    *(b"assw", b"assphrase", b"ecret", b"uthtoken"),
    *(b"pikey", b"ccesskey", b"ccountkey", b"rivatekey"),
)
_SMALL = bytes.maketrans(string.ascii_uppercase.encode(), string.ascii_lowercase.encode())
_BETWEEN = b"_- "

# Rule -> literals of which one must be there (found at memory speed), and the format.
_FORMATS: Mapping[str, tuple[tuple[bytes, ...], str]] = {
    "an OpenAI, Anthropic or like key": (
        (b"sk-", b"sk_"),
        r"sk(?<![A-Za-z0-9]sk)[-_](?=[A-Za-z_-]*[0-9A-Z])[A-Za-z0-9_-]{20,}",
    ),
    "a GitHub token": (
        (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"),
        r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})",
    ),
    "a GitLab token": ((b"glpat-",), r"glpat-[A-Za-z0-9_-]{20,}"),
    "an AWS access key": ((b"AKIA", b"ASIA"), r"(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])"),
    "a Google API key": ((b"AIza",), r"AIza[A-Za-z0-9_-]{35}"),
    "a Slack token": ((b"xox",), r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "a Hugging Face token": ((b"hf_",), r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}"),
    "a Groq key": ((b"gsk_",), r"(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{30,}"),
    "a registry token": (
        (b"pypi-AgE", b"npm_"),
        r"(?:pypi-AgE[A-Za-z0-9_-]{30,}|(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36})",
    ),
    "an xAI key": ((b"xai-",), r"(?<![A-Za-z0-9])xai-[A-Za-z0-9]{40,}"),
    "a SendGrid key": ((b"SG.",), r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    "a Slack webhook": (
        (b"hooks.slack",),
        r"hooks\.slack\.com/services/[A-Z0-9]+/[A-Z0-9]+/\w{16,}",
    ),
    "a JSON web token": ((b"eyJ",), r"eyJ[A-Za-z0-9_-]{10,}\.e(?:yJ|30)[A-Za-z0-9_-]*\.[\w-]{10,}"),
    "a private key": ((b"PRIVATE KEY",), r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"),
    "a password in a URL": ((b"://",), r"://[^\s/@:\"'<>\\]*:[^\s/@\"'<>\\\[\]]{3,}@"),
    "a named secret": (_NAMES, _NAMED),
    "an Authorization header": (
        (b"earer ", b"EARER ", b"asic ", b"ASIC "),
        _HEADER,
    ),
}


NAMED = ("a named secret", "a password in a URL")
"""Rules that a benchmark's own code, pages and test accounts may meet, too."""


class Hit(NamedTuple):
    """A line that may not be given away, and the rule that says so."""

    path: str
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}"


class _Rule(NamedTuple):
    """`literals`: one of them is in every match. `pattern` None: the literal is the match.

    `joined`: the literals are looked for in small letters, with nothing between words.
    """

    name: str
    literals: tuple[bytes, ...]
    pattern: re.Pattern[bytes] | None
    joined: bool = False


class Scanner:
    """Scans bytes for known secrets, known formats, and names of this machine."""

    def __init__(
        self,
        environ: Mapping[str, str],
        folders: Sequence[Path] = (),
        host: str | None = None,
        *,
        named: bool = True,
    ) -> None:
        """Learn what to look for.

        Args:
            environ: secrets are the values of names like OPENAI_API_KEY, and passwords in URLs,
                also in their URL, base64 and JSON forms.
            folders: no path may begin with one of them; none = paths and host are not looked for.
            host: this machine's name; None asks it.
            named: also for what only its name says is a secret (`NAMED`).
        """
        formats = [rule for rule in _formats() if named or rule.name not in NAMED]
        self._rules = [*_values(environ), *formats]
        self._folded = tuple(Folded(name, value) for name, value in _given(environ))
        if folders:
            self._rules += _places(folders, platform.node() if host is None else host)

    def scan(self, path: str, data: bytes) -> Iterator[Hit]:
        """All hits in a file's bytes, each once, rule by rule; `path` is what it calls the file."""
        told: set[Hit] = set()  # forms of one secret overlap
        for hit in self._hits(path, data):
            if hit not in told:
                told.add(hit)
                yield hit

    def _hits(self, path: str, data: bytes) -> Iterator[Hit]:
        joined = data.translate(_SMALL, _BETWEEN)
        for rule in self._rules:
            where = joined if rule.joined else data
            if not any(literal in where for literal in rule.literals):
                continue
            pattern = rule.pattern or re.compile(re.escape(rule.literals[0]))
            for match in pattern.finditer(data):
                yield Hit(path, data.count(b"\n", 0, match.start()) + 1, rule.name)
        if self._folded:
            for name, line in found(self._folded, data):
                yield Hit(path, line, _rule_of(name))
            for line, inner in unpacked(data):
                yield from (Hit(path, line, hit.rule) for hit in self._hits(path, inner))


def secrets(environ: Mapping[str, str]) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """Each secret of the environment: its name, and all forms that it may take in a file."""
    return ((name, _forms(value)) for name, value in _given(environ))


class Loose:
    """Tells whether a text holds a secret in a layout that no list of forms has."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._folded = tuple(Folded(name, value) for name, value in _given(environ))
        self._forms = [form for _, forms in secrets(environ) for form in forms]

    def holds(self, text: str) -> bool:
        data = text.encode(errors="surrogatepass")
        return any(found(self._folded, data)) or any(
            form in inner for _, inner in unpacked(data) for form in self._forms
        )


def _given(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The secrets of the environment: names and values."""
    for name, value in sorted(environ.items()):
        if _SECRET.search(name):
            found = [value.strip()]
        else:
            found = [form for part in _IN_URL.findall(value) for form in {part, unquote(part)}]
        yield from ((name, secret) for secret in found if len(secret) >= SHORTEST)


def _rule_of(name: str) -> str:
    return f"the value of ${name}"


def _values(environ: Mapping[str, str]) -> Iterator[_Rule]:
    """A rule for each secret of the environment and each form that it may take in a file."""
    for name, forms in secrets(environ):
        for form in forms:
            yield _Rule(_rule_of(name), (form,), None)


def _forms(secret: str) -> tuple[bytes, ...]:
    """Plain, in JSON, in JSON within JSON, in a URL, on a page, hexadecimal, in base64.

    Base64 also inside of something longer (`user:secret`), which shifts it by one or two bytes: of
    those forms, the characters that hang on the secret alone.
    """
    raw = secret.encode(errors="surrogateescape")
    escaped = [json.dumps(secret, ensure_ascii=plain)[1:-1] for plain in (True, False)]
    twice = json.dumps(escaped[0])[1:-1]
    forms = [raw, quote(raw, safe="").encode(), raw.hex().encode(), raw.hex().upper().encode()]
    forms += [text.encode(errors="surrogateescape") for text in (*escaped, twice)]
    forms += _addresses(raw)
    pages = [html.escape(secret, quote=quotes) for quotes in (True, False)]
    forms += [text.encode(errors="surrogateescape") for text in pages]
    for shift in range(3):
        bits = 8 * shift, 8 * (shift + len(raw))
        packed = base64.b64encode(b"\0" * shift + raw)[-(-bits[0] // 6) : bits[1] // 6]
        forms += [packed, packed.translate(bytes.maketrans(b"+/", b"-_"))]
    return tuple(dict.fromkeys(forms))


def _addresses(raw: bytes) -> Iterator[bytes]:
    """A secret in a URL as other programs write it: `/` as it is, small digits, quoted twice."""
    for safe in ("", "/"):
        once = quote(raw, safe=safe)
        yield once.encode()
        yield re.sub("%..", lambda code: code.group().lower(), once).encode()
        yield quote(once, safe=safe).encode()


def _formats() -> Iterator[_Rule]:
    for name, (literals, pattern) in _FORMATS.items():
        yield _Rule(name, literals, re.compile(pattern.encode()), joined=literals is _NAMES)


def _places(folders: Sequence[Path], host: str) -> Iterator[_Rule]:
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        if len(folder.parts) > 1:  # "/" alone is in every URL
            raw = str(folder).encode(errors="surrogateescape")
            ends = re.compile(rb"(?<![\w.-])" + re.escape(raw) + rb"(?![\w-])")
            yield _Rule("a path of this machine", (raw,), ends)
    if len(host) >= _HOST_SHORTEST and not host.startswith("localhost"):
        raw = host.encode()
        whole = re.compile(rb"(?<![\w-])" + re.escape(raw) + rb"(?![\w-])")
        yield _Rule("the name of this machine", (raw,), whole)
