"""A seed that was a secret: what a scan of a bundle says of it, and how a suite is given it."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal
from hfr_bench.lab.scan import Scanner
from hfr_bench.lab.seeds import belong, committed, keep, read, scan, secrets, told, written
from hfr_bench.model.bundle import Content
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.testing.bundled import KINDS, MATRIX

SEED = "4f1c9a37d2e85b60"
OPEN = SuiteSelection(suite="a", pool="p", config={"tasks": 3})
HIDDEN = SuiteSelection(suite="b", pool="p", config={"tasks": 3, "seed_digest": "d"})


def content(**seeds):
    return written(Content(matrix=MATRIX, kinds=KINDS, tasks=(), seeds=seeds))


def test_only_what_commits_to_a_seed_is_given_one():
    assert committed((OPEN, HIDDEN)) == {"b": HIDDEN}
    assert told(OPEN, {"a": SEED, "b": SEED}) == OPEN
    assert told(HIDDEN, {"a": SEED}) == HIDDEN
    given = told(HIDDEN, {"b": SEED})
    assert given.config == {"tasks": 3, "seed_digest": "d", "seed": SEED}
    assert HIDDEN.config == {"tasks": 3, "seed_digest": "d"}


def test_what_tells_no_seed_is_written_as_before():
    assert b"seeds" not in content()


@pytest.fixture
def scanner():
    """Looks for a seed that lies in the environment under a secret's name."""
    return Scanner({"HELD_OUT_SECRET": SEED})


def test_a_seed_that_is_told_on_purpose_is_no_hit(scanner):
    assert list(scan(scanner, seal.CONTENT, content(b=SEED))) == []


def test_anywhere_else_it_is(scanner):
    assert [hit.path for hit in scan(scanner, "run.jsonl", SEED.encode())] == ["run.jsonl"]
    assert list(scan(scanner, seal.CONTENT, content().replace(b"toy", SEED.encode())))
    assert list(scan(scanner, seal.CONTENT, content(b=SEED).replace(b"toy", SEED.encode())))


def test_what_looks_like_a_key_is_not_told_as_a_seed(scanner):
    key = "ghp_" + "a1" * 18
    (hit,) = scan(scanner, seal.CONTENT, content(b=key))
    assert (hit.path, hit.rule) == (seal.CONTENT, "a GitHub token")


def test_a_seed_that_is_kept_is_looked_for():
    (hit,) = scan(Scanner(secrets({"b": SEED})), "report.md", f"it was {SEED}".encode())
    assert hit.rule == "the value of $SEED_OF_B_SECRET"


def test_what_is_kept_is_taken_out():
    whole = Content(matrix=MATRIX, kinds=KINDS, tasks=(), seeds={"b": SEED})
    made_of, kept = keep(whole)
    assert (made_of.seeds, kept) == ({}, {"b": SEED})
    assert whole.seeds == {"b": SEED}


@pytest.mark.parametrize(
    "text",
    [f"b: '{SEED}'\nc: long and drawn\n", '{"b": "4f1c9a37d2e85b60", "c": "long and drawn"}'],
)
def test_seeds_are_told_in_a_file_of_their_own(tmp_path, text):
    path = tmp_path / "seeds.yaml"
    path.write_text(text)
    assert read(path) == {"b": SEED, "c": "long and drawn"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "tells no seeds"),
        (SEED, "tells no seeds"),
        ("[b]", "tells no seeds"),
        ("b: 31415926", "b: its seed is read as int, not as text; put it in quotes"),
        ("b: 2024-01-01", "b: its seed is read as date"),
        ("b:", "b: its seed is read as NoneType"),
        (f"b: [{SEED}]", "b: its seed is read as list"),
        (f'b: "{SEED}', "not readable as YAML"),
    ],
)
def test_a_file_that_tells_no_seeds_is_refused_and_not_quoted(tmp_path, text, why):
    path = tmp_path / "seeds.yaml"
    path.write_text(text)
    with pytest.raises(BadInputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert why in str(caught.value)
    assert SEED not in str(caught.value)


def test_a_seed_belongs_to_a_suite_that_commits_to_one():
    belong({}, (OPEN,))
    belong({"b": SEED}, (OPEN, HIDDEN))
    with pytest.raises(BadInputError, match="given for a, c; the suites that commit to one: b"):
        belong({"c": SEED, "a": SEED}, (OPEN, HIDDEN))
    with pytest.raises(BadInputError, match="the suites that commit to one: none"):
        belong({"a": SEED}, (OPEN,))
