"""Which words of a trace may leave: a list of the fields that do, and a rule a suite for the rest.

    a string in a trace -> secrets of the environment out, in every form (wherever it stands)
      -> its field is in VERBATIM: nothing more
      -> else it is text: by the suite's rule as it is, by patterns, or as length and keyed digest

A field that this list does not know is text, so that one that comes later does not leak; a test
asks for a decision on each field there is.
"""

import hmac
import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.redact import Exact, Redactor

PUBLISH = "publish.yaml"
"""suites/publish.yaml: suite -> texts, licence."""
MARKED = 16
"""Characters of a text's HMAC that stand in its place."""


class Texts(StrEnum):
    """What becomes of texts; the later, the stricter."""

    VERBATIM = "verbatim"
    REDACTED = "redacted"
    DIGEST = "digest"


_IDENTITY = "suite task_id profile arm pair_group cohort_id tenant origin"
_FIELDS = {
    "trial_started": f"{_IDENTITY} prereg_digest schedule_digest arm_digest sandbox image_id clock "
    "source expected prefix_digest",
    "attempt_started": "point channel target purpose intent_id key stepless_key level "
    "request_digest operation_id",
    "attempt_ended": "exception response_digest retry_after returned_model finish_reason signs",
    "upstream_hit": "point target injection_id kind request_digest response_digest upstream_digest "
    "prefix",
    "fault_injected": "injection_id kind",
    "host": "operation_id when cut",
    "effect": "operation_id point tool actor level natural_key args_digest response_digest",
    "decided": "on action fault_class substitute rung check",
    "ledger_moved": "key stepless_key tool level before after lease operation_id",
    "reconciled": "tool landed",
    "verified": "level",
    "step_ended": "channel point action result_digest",
    "said": "who text_digest",
    "escalated": "packet.trial_id packet.status packet.committed packet.unknown",
    "checkpointed": "checkpoint.trial_id checkpoint.config_digest checkpoint.point "
    "checkpoint.version",
    "circuit_moved": "target state",
    "withheld": "why scope",
    "carried": "",
    # Addresses have neither host nor query words; the audit pairs hits and answers by them.
    "web_hit": "site method url point level upstream_digest response_digest retry_after "
    "injection_id kind",
    "web_seen": "method url response_digest retry_after exception",
    "trial_ended": " ".join(
        f"result.{name}" for name in f"{_IDENTITY} trial_id void state_digest outcome.end".split()
    )
    + " result.outcome.components cassette",
}
VERBATIM = frozenset(
    f"{body}.{field}" for body, fields in _FIELDS.items() for field in fields.split()
)
"""Fields of enumerated words, names, ids and digests, `body type.field`: they leave as they are."""


class Changed(NamedTuple):
    """A string that became another: where, by which rules, and the HMAC of what it was."""

    pointer: str
    rule: str
    hmac: str


def rules(suites: Iterable[str]) -> dict[str, Texts]:
    """What becomes of each suite's texts. Raises BadInputError for a rule that nobody knows."""
    listed = _listed()
    found = {}
    for suite in suites:
        said = listed.get(suite, {}).get("texts", Texts.DIGEST)
        try:
            found[suite] = Texts(said)
        except ValueError as error:
            raise BadInputError(
                f"suites/{PUBLISH}: {suite}: texts: {said!r} is none of {', '.join(Texts)}"
            ) from error
    return found


def licence(suite: str) -> str:
    """The licence of a suite's words, as suites/publish.yaml says; `unknown` where it does not."""
    return str(_listed().get(suite, {}).get("licence", "unknown"))


def _listed() -> Mapping[str, Mapping[str, Any]]:
    path = content.root() / "suites" / PUBLISH
    found: Mapping[str, Mapping[str, Any]] = content.read_yaml(path) if path.is_file() else {}
    return found


class Censor:
    """Takes strings out of JSON values, and remembers which."""

    def __init__(self, environ: Mapping[str, str], key: bytes) -> None:
        self._key = key
        self._wide = Redactor()
        self._exact = Exact(environ)

    def sign(self, text: str) -> str:
        """HMAC-SHA-256 of a text, hexadecimal."""
        return hmac.new(self._key, text.encode(errors="surrogatepass"), sha256).hexdigest()

    def body(self, body: Mapping[str, Any], texts: Texts) -> tuple[Any, list[Changed]]:
        """A trace event's body without what may not leave, and what that was.

        Raises KeyError for a body without a type.
        """
        changed: list[Changed] = []
        kind = body["type"]  # without it nobody could read the line
        rest = {name: value for name, value in body.items() if name != "type"}
        made = self._value(rest, str(kind), "/body", texts, changed)
        return {"type": kind, **made}, changed

    def text(self, text: str, texts: Texts) -> tuple[str, str]:
        """A text as it may leave, and the rules that changed it ("" if none did)."""
        made = self._exact.text(text)
        rules = [] if made == text else ["exact"]
        if texts is Texts.DIGEST and text:
            made = f"[{len(text)} characters, {self.sign(text)[:MARKED]}]"
            rules.append("digest")
        elif texts is Texts.REDACTED and (clean := self._wide.text(made)) != made:
            made = clean
            rules.append("pattern")
        return made, "+".join(rules)

    def _value(
        self, value: Any, field: str, pointer: str, texts: Texts, changed: list[Changed]
    ) -> Any:
        if isinstance(value, str):
            made, rule = self.text(value, Texts.VERBATIM if field in VERBATIM else texts)
            if rule:
                changed.append(Changed(pointer, rule, self.sign(value)))
            return made
        if isinstance(value, Mapping):
            return {
                name: self._value(
                    inner,
                    field if field in VERBATIM else f"{field}.{name}",
                    f"{pointer}/{_escaped(name)}",
                    texts,
                    changed,
                )
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [
                self._value(inner, field, f"{pointer}/{number}", texts, changed)
                for number, inner in enumerate(value)
            ]
        return value


def _escaped(name: str) -> str:
    """A key as a JSON pointer has it (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def at(value: Any, pointer: str) -> Any:
    """What a JSON pointer points to. Raises KeyError, IndexError, ValueError or TypeError."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def blanked(line: bytes, pointers: Iterable[str]) -> Any:
    """A trace line as JSON, without its `prev`, and with null wherever it is pointed to."""
    event = json.loads(line)
    event.pop("prev")
    for pointer in pointers:
        above, _, last = pointer.rpartition("/")
        holder = at(event, above)
        name: Any = int(last) if isinstance(holder, list) else last
        holder[name.replace("~1", "/").replace("~0", "~") if isinstance(name, str) else name] = None
    return event
