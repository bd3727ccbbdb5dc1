"""A secret is found however it is laid out, and ordinary text is taken for none."""

import base64
import codecs
import gzip
import html
import json
import re
import textwrap
import zlib
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.lab.folding import Folded, folded, found, unpacked
from hfr_bench.lab.redacting.policy import Censor, Texts
from hfr_bench.lab.scan import Scanner

SECRET = "aB3/dE6+hI9<kL2&nO5=qR8"
PLAIN = "aB3dE6hI9kL2nO5qR8tU1wX4"
RAW = SECRET.encode()
TWICE = quote(quote(SECRET, safe=""), safe="")

SHAPES = {
    "on a page": html.escape(SECRET),
    "small digits in a URL": re.sub("%..", lambda code: code[0].lower(), quote(SECRET)),
    "slashes kept in a URL": quote(SECRET),
    "a URL within a URL": TWICE,
    "JSON within JSON within JSON": json.dumps(json.dumps(json.dumps(SECRET))),
    "broken over lines": f"{SECRET[:11]}\n{SECRET[11:]}",
    "broken over lines, in JSON": json.dumps(f"{SECRET[:11]}\n{SECRET[11:]}"),
    "spaced": " ".join(SECRET),
    "reversed": SECRET[::-1],
    "shouted": SECRET.upper(),
    "hexadecimal with colons": RAW.hex(":"),
    "escapes of C": "".join(f"\\x{sign:02x}" for sign in RAW),
    "escapes of JSON": "".join(f"\\u{sign:04x}" for sign in RAW),
    "base64 in lines": "\n".join(textwrap.wrap(base64.b64encode(RAW * 4).decode(), 20)),
    "base32": base64.b32encode(RAW).decode(),
    "gzip in base64": base64.b64encode(gzip.compress(RAW)).decode(),
    "zlib in base64": base64.b64encode(zlib.compress(b'{"key": "%b"}' % RAW)).decode(),
    "gzip in base64 of URLs": base64.urlsafe_b64encode(gzip.compress(RAW)).decode(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_found_in_a_file_and_taken_out_of_a_text(shape):
    text = f"it said {SHAPES[shape]}, so"
    environ = {"MY_API_KEY": SECRET}
    lines = ("{}\n" * 2 + text).encode()
    found_ = list(Scanner(environ).scan("f", lines))
    assert {(hit.line, hit.rule) for hit in found_} == {(3, "the value of $MY_API_KEY")}
    made, rule = Censor(environ, b"k" * 32).text(text, Texts.VERBATIM)
    assert rule == "exact"
    assert not list(Scanner(environ).scan("f", made.encode()))


@given(st.integers(1, len(PLAIN) - 1), st.sampled_from(["\n", "\\n", " ", "\r\n\t", '", "', "-"]))
def test_wherever_it_is_broken(at, gap):
    text = f"x {PLAIN[:at]}{gap}{PLAIN[at:]} y"
    assert list(found([Folded("A_KEY", PLAIN)], text.encode())) == [("A_KEY", 1)]


@pytest.mark.parametrize(
    "secret", ["correcthorsebattery", "INTEGRATIONTESTS", "Developmentserver", "short7", "----7"]
)
def test_what_is_made_of_words_is_not_looked_for_in_prose(secret):
    assert Folded("A_KEY", secret).needles == ()


@given(st.binary(max_size=300))
def test_anything_can_be_looked_through(data):
    assert not list(found([Folded("A_KEY", PLAIN)], data))
    list(unpacked(data + b" H4sI" + base64.b64encode(data)))
    assert folded(data) == folded(folded(data))


def test_a_packed_bomb_is_not_unpacked_whole():
    bomb = base64.b64encode(gzip.compress(b"\0" * 50_000_000))
    ((line, inner),) = unpacked(b"one\n" + bomb)
    assert (line, len(inner)) == (2, 1024**2)


@given(st.integers(0, 30))
def test_one_half_is_whole_wherever_it_is_split_over_two_fields(at):
    secret = "sk-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o"
    text = json.dumps({"user": secret[:at], "said": secret[at:]})
    assert [hit.rule for hit in Scanner({"MY_API_KEY": secret}).scan("f", text.encode())]


def test_half_a_secret_that_is_a_word_is_not_looked_for():
    secret = "developmentserver" + "0123456789abcdef!"
    assert not list(Scanner({"MY_API_KEY": secret}).scan("f", b"a developmentserver"))


def test_what_nobody_finds():
    """Said in docs/bundle.md: a cipher, a checksum, a part of it."""
    scanner = Scanner({"MY_API_KEY": SECRET})
    for text in (codecs.encode(SECRET, "rot13"), SECRET[:12], base64.b85encode(RAW).decode()):
        assert not list(scanner.scan("f", text.encode()))
