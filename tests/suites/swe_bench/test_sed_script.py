"""What a sed script does, tried on the real sed where one is installed."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.suites.swe_bench.sed_script import disjoint, prints_only, settles

SETTLES = [
    "s/old/new/g",
    "s|a/b|c.d|g",
    "s/a\\.b/x/g",
    "10s/old/new/g",
    "1,5s/old/new/g",
    "/here/s/old/new/g",
    "s/^foo/bar/",
    "s/old/new\\/er/g",
    "$s/old/new/g",
]
UNSETTLED = [
    "s/old/new/",  # a line may hold it twice
    "s/old/older/g",
    "s/old/l/g",
    "s/old//g",
    "s/ab/bc/g",
    "s/.*/x/g",
    "s/a*/x/g",
    "s/old/&&/g",
    "s/\\(a\\)/\\1\\1/g",
    "s/old/new/gI",
    "s/old/new/2",
    "s/a/b/g;s/b/c/g",
    "/a/,/b/s/x/y/g",
    "10d",
    "10i\\  x",
    "$a x",
    "y/ab/ba/",
    "s/^foo/foobar/",
    "s/^foobar/foo/",
    "s/old/new/w out",
    "s/old/date/e",
    "w out",
    "r in",
    "e date",
    ":a;s/a/b/;ta",
    "s/unfinished",
    "",
]


@pytest.mark.parametrize("script", SETTLES)
def test_settled(script):
    assert settles(script, extended=False)


@pytest.mark.parametrize("script", UNSETTLED)
def test_unsettled(script):
    assert not settles(script, extended=False)


def test_what_is_plain_depends_on_the_language():
    assert settles("s/a+b/x/g", extended=False)
    assert not settles("s/a+b/x/g", extended=True)
    assert not settles("s/a\\+b/x/g", extended=False)
    assert not settles("s/a\\+b/x/g", extended=True), "not looked into: either language may mean it"


@pytest.mark.parametrize(
    ("script", "only"),
    [
        ("1,20p", True),
        ("/a/,/b/p", True),
        ("s/a/b/;s/c/d/p", True),
        ("/x/{p;q}", True),
        ("$!N;P;D", True),
        ("y/ab/cd/", True),
        ("10q", True),
        ("1~2d", True),
        ("a\\\nhello", True),
        ("s/a/b/w out", False),
        ("w out", False),
        ("1,3W out", False),
        ("e rm x", False),
        ("s/a/rm x/e", False),
        ("s/a/b/ # w", False),
        ("p w", False),
        ("?", False),
    ],
)
def test_prints_only(script, only):
    assert prints_only(script) is only


text = st.text("ab-", min_size=1, max_size=4)


@given(text, text, st.text("ab-", max_size=12))
def test_disjoint_replacements_find_nothing_the_second_time(old, new, body):
    once = body.replace(old, new)
    if disjoint(old, new):
        assert once.replace(old, new) == once


@given(text, text)
def test_it_is_no_stricter_than_it_must_be(old, new):
    """Whenever it says no, some text shows why, but for what no text of this alphabet can show."""
    if not disjoint(old, new):
        bodies = [a + old + b for a in _short() for b in _short()]
        shown = any(t.replace(old, new).replace(old, new) != t.replace(old, new) for t in bodies)
        assert shown or old in new or new in old or set(old) & set(new)


def _short():
    return ["", *"ab-", *(x + y for x in "ab-" for y in "ab-")]


@pytest.mark.parametrize("script", SETTLES)
def test_the_real_sed_agrees(tmp_path, script):
    sed = shutil.which("sed")
    if sed is None:
        pytest.skip("no sed here")
    path = tmp_path / "f"
    path.write_text("old old here old\na/b a.b foo\nfoo foo old\n")
    states = []
    for _ in range(2):
        subprocess.run([sed, "-i", script, str(path)], check=True)
        states.append(path.read_text())
    assert states[0] == states[1]
