"""The files around a bundle that hold it together: manifest, statement, ends of hash chains."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from hfr_bench.model.bundle import Bundle, Chain
from hfr_bench.model.record import canonical
from hfr_bench.model.review import RATER

MANIFEST, STATEMENT, BUNDLE, CONTENT, ENVIRONMENT, README, REPORT = (
    "MANIFEST.sha256",
    "statement.json",
    "bundle.json",
    "content.json",
    "environment.json",
    "README.md",
    "report.json",
)
REDACTED, REDACTIONS = "redaction.json", "redactions.jsonl"
"""In a redacted bundle alone: its rules, and every text that was changed."""

UNLISTED = frozenset({MANIFEST, STATEMENT})
"""What the manifest cannot list: itself, and the statement about it."""

REVIEWS = "reviews"
"""Where people's ratings lie, a file a rater."""

PREDICATE = "urn:hfr-bench:run:v1"
"""The in-toto predicate type of our statement: `Bundle` without its long lists."""

TRACE = re.compile(r"trials/([^/]+)/r([1-9]\d*)/([^/]+)\.jsonl")
"""A finished trace: group, round, arm; what is archived beside it ends differently."""

_KNOWN = re.compile(
    r"prereg\.yaml|prereg\.lock\.json(\.tsr)?|prices\.json|plan\.jsonl|(run|looks)\.jsonl"
    r"|schedules/[^/]+\.jsonl|parents/[0-9a-f]{12}\.(yaml|lock\.json)"
    r"|trials/[^/]+/r[1-9]\d*/[^/]+\.jsonl(\.[a-z]+(-\d+)?)?"
    r"|report\.(json|md|html)|content/suites/[^/]+/(suite|tools)\.yaml|(kinds|matrices)/[^/]+\.yaml"
    r"|cassettes/[^/]+/r[1-9]\d*/[^/]+\.jsonl"
    rf"|{REVIEWS}/{RATER.strip('^$')}\.jsonl"
    rf"|{'|'.join(map(re.escape, (STATEMENT, BUNDLE, CONTENT, ENVIRONMENT, README, MANIFEST)))}"
    rf"|{re.escape(REDACTED)}|{re.escape(REDACTIONS)}"
)


def known(name: str) -> bool:
    """Whether a bundle has a place for a file of that name."""
    return _KNOWN.fullmatch(name) is not None


def manifest(digests: Mapping[str, str]) -> bytes:
    """MANIFEST.sha256: `sha256  path`, sorted by path; `sha256sum -c` reads it."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode()


def read_manifest(data: bytes) -> dict[str, str]:
    """Path -> sha256. Raises ValueError for a line that is no entry, and for a path listed twice.

    Only the one layout that we write is read, so that nothing can hide in another.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(data.decode().removesuffix("\n").split("\n"), 1):
        sha256, gap, name = line.partition("  ")
        if not gap or not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise ValueError(f"{MANIFEST}:{number}: is not `sha256  path`")
        if name in found:
            raise ValueError(f"{MANIFEST}:{number}: lists {name} a second time")
        found[name] = sha256
    if manifest(found) != data:
        raise ValueError(f"{MANIFEST}: is not sorted by path")
    return found


def chain_of(name: str, data: bytes) -> Chain:
    """The end of a trace's hash chain: what the `prev` of a further line would be."""
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    last = hashlib.sha256(lines[-1]).hexdigest() if lines else ""
    return Chain(path=name, lines=len(lines), last=last)


def statement(bundle: Bundle, manifest_digest: str) -> dict[str, Any]:
    """An in-toto Statement (v1) over the manifest, to be signed by whoever wants to."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": MANIFEST, "digest": {"sha256": manifest_digest}}],
        "predicateType": PREDICATE,
        "predicate": bundle.summary().model_dump(mode="json"),
    }


def canonical_file(value: Any) -> bytes:
    """Canonical JSON (RFC 8785) and a newline."""
    return canonical(value) + b"\n"
