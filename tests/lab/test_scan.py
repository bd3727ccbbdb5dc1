"""The scan finds secrets and places, says where and by which rule, and never what."""

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from hfr_bench.lab.scan import Scanner

SECRET = 'p/s w"7+örd'
"""Its raw, JSON, URL and base64 forms all differ."""


def rules(data: bytes, scanner: Scanner | None = None) -> list[tuple[int, str]]:
    return [(hit.line, hit.rule) for hit in (scanner or Scanner({})).scan("f", data)]


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
    ],
    ids=["raw", "json", "url", "base64"],
)
@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "X_TOKEN", "DB_PASSWORD", "my_secret"])
def test_a_secret_of_the_environment_is_found_in_every_form(name, form):
    scanner = Scanner({name: SECRET})
    assert rules(f"one\ntwo {form} three\n".encode(), scanner) == [(2, f"the value of ${name}")]


@pytest.mark.parametrize("name", ["OPENAI_API_KEY_2", "SMTP_PASS", "MYSQL_PWD", "GITHUB_PAT"])
def test_names_that_secrets_also_have(name):
    assert rules(SECRET.encode(), Scanner({name: SECRET})) == [(1, f"the value of ${name}")]


def test_a_password_in_a_url_of_the_environment_is_a_secret():
    environ = {"DATABASE_URL": "postgres://somebody:se%2Fcret-123@db/x", "PWD": "/home/somebody"}
    for form in ("se%2Fcret-123", "se/cret-123", b"se/cret-123".hex()):
        found = rules(f"with {form} in it".encode(), Scanner(environ))
        assert found == [(1, "the value of $DATABASE_URL")]
    assert not rules(b"somebody at db, in /home/somebody", Scanner(environ))


def test_other_variables_and_short_values_are_no_secrets():
    environ = {"HOME": "/home/someone", "TOKENIZERS_PARALLELISM": "false!!!", "A_TOKEN": "short"}
    assert not rules(b"/home/someone false!!! short", Scanner(environ))


# Put together here, so that no scanner of repositories takes them for real ones.
KEYS = {
    "OpenAI": "sk-" + "proj-" + "a1B2" * 8,
    "Anthropic": "sk-" + "ant-api03-" + "a1B2" * 8,
    "Stripe": "sk_" + "live_" + "a1B2" * 8,
    "GitHub": "ghp" + "_" + "a1B2" * 9,
    "GitHub, fine": "github" + "_pat_" + "a1B2" * 9,
    "GitLab": "glpat" + "-" + "a1B2" * 5,
    "AWS": "AK" + "IA" + "A1B2" * 4,
    "Google": "AI" + "za" + "a1B2_" * 7,
    "Slack": "xox" + "b-" + "12345678-abc",
    "Hugging Face": "hf" + "_" + "a1B2" * 9,
    "Groq": "gsk" + "_" + "a1B2" * 9,
    "PyPI": "pypi-" + "AgE" + "a1B2" * 9,
    "npm": "npm" + "_" + "a1B2" * 9,
    "JWT": "eyJ" + "hbGciOiJIUzI1.eyJ" + "zdWIiOiIxMjM0.abcdefghijk",
    "private key": "-----BEGIN " + "RSA PRIVATE KEY-----",
    "JWT of nothing": "eyJ" + "hbGciOiJIUzI1NiJ9.e30.abcdefghijk",
    "PGP": "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----",
    "xAI": "xai" + "-" + "a1B2" * 12,
    "SendGrid": "SG" + ".a1B2c3D4e5F6g7H8.a1B2c3D4e5F6g7H8",
    "Slack webhook": "https://hooks.slack" + ".com/services/T0/B0/a1B2c3D4e5F6g7H8",
    "URL": "https://deploy:" + "hunter2pass@localhost/",
    "URL without a name": "redis://:" + "hunter2pass@cache:6379",
    "password": "password=" + "Tr0ub4dor-and-3",
    "AWS secret": "aws_secret_access_key = " + "a1B2/" * 8,
    "Azure": "AccountKey=" + "a1B2" * 8 + "==",
    "basic": "Authorization: Basic " + "dXNlcjpwYXNzd29yZA1==",
    "header": "Authorization: Bearer " + "a1B2" * 8,
}


@pytest.mark.parametrize("name", KEYS)
def test_well_known_formats_are_found(name):
    assert [line for line, _ in rules(f'\n{{"k": "{KEYS[name]}"}}\n'.encode())] == [2]


@pytest.mark.parametrize(
    "name",
    [
        "PassWord",
        "DB_PASSWD",
        "passphrase",
        "client-secret",
        "authToken",
        "AUTH_TOKEN",
        "API key",
        "api-key",
        "apiKey",
        "Access_Key",
        "accountkey",
        "PRIVATE-KEY",
    ],
)
def test_a_secret_is_known_by_its_name_however_that_is_written(name):
    assert rules(f"{name}: a1b2c3d4e5".encode()) == [(1, "a named secret")]


@pytest.mark.parametrize(
    "text",
    [
        "a task-specific-and-rather-long-name-1234567890 and risk-aversion",
        "the disk-encryption-of-a-whole-machine",
        "sha256:" + "0123456789abcdef" * 4,
        "a bearer of very bad news indeed, this one",
        "AKIAS and EYJAFJALLAJOKULL",
        "password: {type: string, minLength: 12}",
        "the api key: not set; secret=unknown; password: [16 characters, 0123456789abcdef]",
        "https://host:8443/a@b and http://[::1]:80/x mailto:somebody@host",
    ],
)
def test_prose_and_digests_are_no_secrets(text):
    assert not rules(text.encode())


def test_a_hit_does_not_tell_the_secret():
    (hit,) = Scanner({"A_KEY": SECRET}).scan("trials/x.jsonl", f"\n{SECRET}".encode())
    assert str(hit) == "trials/x.jsonl:2: the value of $A_KEY"


def test_paths_and_the_name_of_this_machine_are_found_where_asked_for():
    scanner = Scanner({}, [Path("/home/ada")], host="adas-laptop")
    data = b"see /home/ada/x\n/home/adam, a/home/ada, adas-laptop-2\nadas-laptop/1\n"
    assert rules(data, scanner) == [(1, "a path of this machine"), (3, "the name of this machine")]
    assert not rules(data)


def test_the_root_and_host_names_that_say_nothing_are_left_alone():
    assert not rules(b"http://localhost/vm", Scanner({}, [Path("/")], host="vm"))
    assert not rules(b"http://localhost/", Scanner({}, [Path("/")], host="localhost"))


def test_what_only_its_name_says_is_a_secret_can_be_let_through():
    scanner = Scanner({"A_KEY": SECRET}, named=False)
    told = f"{KEYS['password']} postgres://me:pa55word@db\n{SECRET} {KEYS['GitHub']}"
    found = [rule for _, rule in rules(told.encode(), scanner)]
    assert found == ["the value of $A_KEY", "a GitHub token"]
