"""Each field of a trace is decided upon; secrets go in every form; rules do what they say."""

import base64
import json
from collections.abc import Iterator
from typing import Any, get_args
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from hfr_bench.errors import BadInputError
from hfr_bench.lab.decode import BODIES
from hfr_bench.lab.redacting.policy import VERBATIM, Censor, Texts, at, blanked, licence, rules

SECRET = 'p/s w"7+örd'
KEY = b"k" * 32
TEXTS = {
    "trial_started.cohort.shared",
    "decided.reason",
    "decided.evidence",
    "ledger_moved.evidence",
    "verified.reasons",
    "effect.changed",
    "web_hit.meddled",
    "escalated.packet.reason",
    "escalated.packet.evidence",
    "escalated.packet.suggestion",
    "checkpointed.checkpoint.strategy_state",
    "checkpointed.checkpoint.agent_state",
    "carried.shared",
    "carried.problem",
    "trial_ended.result.void_reason",
    "trial_ended.result.outcome.reason",
}
"""Fields whose words go by the suite's rule."""


def worded(model: type[BaseModel], path: str) -> Iterator[str]:
    """Fields of a record, and of those in it, that can hold words."""
    for name, info in model.model_fields.items():
        inner = [kind for kind in _kinds(info.annotation) if issubclass(kind, BaseModel)]
        if inner:
            yield from worded(inner[0], f"{path}.{name}")
        elif not set(_kinds(info.annotation)) <= {int, float, bool, type(None)}:
            yield f"{path}.{name}"


def _kinds(annotation: Any) -> list[type]:
    if isinstance(annotation, type) and not get_args(annotation):
        return [annotation]
    if annotation is Any:
        return [str]
    parts = [kind for arg in get_args(annotation) for kind in _kinds(arg)]
    return parts or [str]  # a literal


def test_every_field_of_a_trace_is_decided_upon():
    found = {
        path
        for body in BODIES
        for path in worded(body, str(body.model_fields["type"].default))
        if not path.endswith((".v", ".type"))
    }
    undecided = found - VERBATIM - TEXTS
    assert not undecided, "say in policy.VERBATIM that it may leave, or here that it is text"
    assert not TEXTS & VERBATIM


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(json.dumps(SECRET))[3:-3],
        quote(SECRET, safe=""),
        SECRET.encode().hex(),
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(b"x:" + SECRET.encode()).decode(),
        base64.urlsafe_b64encode(b"xy:ab" + SECRET.encode()).decode(),
    ],
)
@pytest.mark.parametrize("field", ["reason", "action"])
def test_a_secret_goes_in_every_form_wherever_it_stands(form, field):
    censor = Censor({"A_KEY": SECRET}, KEY)
    body, changed = censor.body({"type": "decided", field: f"<{form}>"}, Texts.VERBATIM)
    assert "[secret]" in body[field]
    assert [(one.pointer, one.rule) for one in changed] == [(f"/body/{field}", "exact")]


def test_the_rules_of_texts():
    censor = Censor({}, KEY)
    text = "ask jane@example.org"
    assert censor.text(text, Texts.VERBATIM) == (text, "")
    assert censor.text(text, Texts.REDACTED) == ("ask [e-mail]", "pattern")
    told, rule = censor.text(text, Texts.DIGEST)
    assert (told, rule) == (f"[20 characters, {censor.sign(text)[:16]}]", "digest")
    assert censor.text(text, Texts.DIGEST) == (told, rule)  # equal texts stay equal
    assert Censor({}, b"q" * 32).text(text, Texts.DIGEST)[0] != told  # and nobody can guess them
    assert censor.text("", Texts.DIGEST) == ("", "")


def test_a_field_that_nobody_knows_is_text():
    made, changed = Censor({}, KEY).body({"type": "new", "a": {"b/c": ["x"]}}, Texts.DIGEST)
    assert [one.pointer for one in changed] == ["/body/a/b~1c/0"]
    assert at({"body": made}, "/body/a/b~1c/0").startswith("[1 characters")


def test_suites_have_rules_and_strangers_the_strictest():
    found = rules(["shopdesk", "tau2", "somebodys"])
    assert found["tau2"] == found["somebodys"] == Texts.DIGEST
    assert found["shopdesk"] == Texts.REDACTED
    assert licence("somebodys") == "unknown"


def test_a_rule_that_nobody_knows_is_named(tmp_path, monkeypatch):
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "publish.yaml").write_text("s: {texts: all}\n")
    monkeypatch.setenv("HFR_BENCH_CONTENT", str(tmp_path))
    with pytest.raises(BadInputError, match=r"s: texts: 'all' is none of verbatim"):
        rules(["s"])


words = st.recursive(
    st.text(max_size=6) | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(words)
def test_pointers_find_what_was_changed_and_nothing_else_was(value):
    body = {"type": "decided", "reason": value}
    made, changed = Censor({}, KEY).body(body, Texts.DIGEST)
    one, other = (json.dumps({"prev": "", "body": b}).encode() for b in (body, made))
    pointers = [change.pointer for change in changed]
    assert blanked(one, pointers) == blanked(other, pointers)
    for change in changed:
        original = at({"body": body}, change.pointer)
        assert change.hmac == Censor({}, KEY).sign(original)
