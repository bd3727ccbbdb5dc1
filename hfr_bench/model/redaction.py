"""What was taken out of a bundle before it was given away, and how the raw one can be matched."""

from hfr_bench.model.bundle import Chain
from hfr_bench.model.record import Record


class Redaction(Record):
    """A line of redactions.jsonl: one text that was changed.

    `path`, `line`: of the trace (lines count from 1). `pointer`: RFC 6901, within the line.
    `rule`: what changed it: exact, pattern, digest; joined by `+`. `hmac`: HMAC-SHA-256 of the
    original (UTF-8), by a key that stays with the owner.
    """

    path: str
    line: int
    pointer: str
    rule: str
    hmac: str


class Redacted(Record):
    """redaction.json: by which rules a bundle was redacted.

    `texts`: suite -> verbatim, redacted or digest. `key_id`: the beginning of the SHA-256 of the
    owner's key. `canary`: a fake key was in the environment of every run, and is in no file.
    `counts`: redactions by rule. `left_out`: files that the raw bundle has and this one has not.
    `raw`: the end of each trace's hash chain as it was before; `raw_traces_digest`: of them all.
    """

    texts: dict[str, str]
    key_id: str
    canary: bool
    counts: dict[str, int] = {}
    left_out: tuple[str, ...] = ()
    raw_traces_digest: str = ""
    raw: tuple[Chain, ...] = ()
