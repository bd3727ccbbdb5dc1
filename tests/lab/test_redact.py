"""Nothing that the bundle's scanner knows gets past the redactor, and plain text is left alone."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.lab import scan
from hfr_bench.lab.redact import Redactor

# Put together here, so that this file holds no key itself. Rule -> a text that breaks it.
LETTERS, DIGITS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", "0123456789" * 4
SAMPLES = {
    "an OpenAI, Anthropic or like key": "sk-" + "proj-" + LETTERS,
    "a GitHub token": "ghp" + "_" + LETTERS,
    "a GitLab token": "glpat" + "-" + LETTERS,
    "an AWS access key": "AKIA" + "ABCDEFGHIJ012345",
    "a Google API key": "AIza" + (LETTERS + DIGITS)[:35],
    "a Slack token": "xoxb" + "-" + DIGITS,
    "a Hugging Face token": "hf" + "_" + LETTERS,
    "a Groq key": "gsk" + "_" + LETTERS,
    "a registry token": "npm" + "_" + (LETTERS + DIGITS)[:36],
    "a JSON web token": ".".join(["eyJ" + LETTERS, "eyJ" + LETTERS, LETTERS]),
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
    "an xAI key": "xai" + "-" + LETTERS + DIGITS,
    "a SendGrid key": "SG" + "." + LETTERS[:22] + "." + LETTERS,
    "a Slack webhook": "https://hooks.slack" + ".com/services/T0000/B0000/" + LETTERS,
    "a password in a URL": "postgres://somebody:" + "hunter22@localhost/db",
    "a named secret": "aws_secret_access_key=" + "a1B2/" * 8,
    "an Authorization header": "Authorization: " + "Bearer " + "0" + LETTERS,
}
KEY = "correct-h0rse-battery"


def test_there_is_a_sample_of_every_rule() -> None:
    assert SAMPLES.keys() == scan._FORMATS.keys()


@pytest.mark.parametrize("rule", SAMPLES)
def test_what_the_scanner_finds_the_redactor_takes_out(rule: str) -> None:
    scanner, text = scan.Scanner({}), f"told me: {SAMPLES[rule]}, and so on"
    assert rule in {hit.rule for hit in scanner.scan("f", text.encode())}
    clean = Redactor().text(text)
    assert not list(scanner.scan("f", clean.encode()))
    assert clean.startswith("told me: ")
    assert clean.endswith(", and so on")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("write to jane.doe+x@mail.example.org now", "write to [e-mail] now"),
        ("card 4111 1111 1111 1111 was declined", "card [card number] was declined"),
        ("card 4111-1111-1111-1111", "card [card number]"),
        ("378282246310005", "[card number]"),
        ("order 4111111111111112", "order 4111111111111112"),
        ('{"api_key": "abcd1234"}', '{"[secret]"}'),
        ("https://x/?token=abcdef&y=1", "https://x/?[secret]&y=1"),
        ("password=hunter22 wrong", "[secret] wrong"),
        ('{"password": "correct horse"}', '{"[secret]"}'),
        ("SecretAccessKey: abcdefgh", "Secret[secret]"),
        ("http://u:p@localhost/x", "http://[secret]@localhost/x"),
        ("basic " + "dXNlcjpwYXNz" + "d29yZA==", "[token]"),
    ],
)
def test_personal_data_and_secrets(text: str, clean: str) -> None:
    assert Redactor().text(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "no retry left",
        "HTTP 503: service unavailable, retry-after 30",
        "the world does not have it",
        "tokens: 812 in, 40 out",
        "irreversible and unknown, and the world cannot be asked",
        "openai/gpt-4o-mini at 2026-01-01T00:00:05+00:00",
        "f" * 64,
        "0.4111111111111111",
        "",
    ],
)
def test_plain_text_is_left_alone(text: str) -> None:
    assert Redactor().text(text) == text


def test_values_of_the_environment_are_taken_out_wherever_they_are() -> None:
    redactor = Redactor({"MY_API_KEY": KEY, "HOME": "/home/somebody", "X_TOKEN": "short"})
    assert redactor.text(f"with {KEY}!") == "with [secret]!"
    assert redactor.text("/home/somebody is short") == "/home/somebody is short"


@pytest.mark.parametrize(
    "form",
    [KEY.encode().hex(), base64.b64encode(KEY.encode()).decode(), KEY[::-1], " ".join(KEY)],
    ids=["hexadecimal", "base64", "reversed", "spaced"],
)
def test_values_of_the_environment_are_taken_out_in_every_form(form: str) -> None:
    """An export or an inbox shows them as little as a bundle does."""
    clean = Redactor({"MY_API_KEY": KEY}).text(f"it said {form}")
    assert form.strip("=") not in clean
    assert "[secret]" in clean


def test_values_are_redacted_all_the_way_down() -> None:
    given_ = {"a@b.org": ["x@y.org", 1, None, True], "n": {"deep": ("p@q.org",)}}
    assert Redactor().value(given_) == {
        "a@b.org": ["[e-mail]", 1, None, True],
        "n": {"deep": ["[e-mail]"]},
    }


pieces = st.lists(st.sampled_from([*SAMPLES.values(), " ", "text", "\n", '"', "@"]), max_size=8)


@given(pieces)
def test_no_company_of_secrets_hides_one(parts: list[str]) -> None:
    clean = Redactor().text(" ".join(parts))
    assert not list(scan.Scanner({}).scan("f", clean.encode()))
    assert Redactor().text(clean) == clean
