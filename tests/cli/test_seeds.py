"""Held-out tasks end to end: committed to by digest, frozen, run, told in the bundle, verified."""

import json
import shutil
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.register import load
from hfr_bench.model.record import text_digest
from hfr_bench.suites.shopdesk.adapter import SEED as VARIABLE
from hfr_bench.testing.bundled import reseal
from hfr_bench.testing.runs import unrun

SEED = "4f1c9a37d2e85b60"
DESK = f"""\
v: 1
name: held-out
title: Held-out tasks
origin: rehearsal
sandbox: process
suites:
  - suite: shopdesk
    config: {{seed_digest: {text_digest(SEED)}, tasks: 2}}
    pool: base
seeds: [1]
faults: {{matrix: stress, rates: [0, 0.2]}}
arms: [{{name: no_retry, strategy: no_retry}}, {{name: exp_retry, strategy: exp_retry}}]
analysis: {{baseline: no_retry, resamples: 200}}
"""


def call(capsys, *args):
    """The exit code, and all that was said."""
    code = run([str(arg) for arg in args])
    told = capsys.readouterr()
    return code, told.out + told.err


@pytest.fixture(scope="module")
def held_out(tmp_path_factory):
    """Frozen and run with the seed in the environment, under a secret's name as well."""
    folder = tmp_path_factory.mktemp("held_out") / "e"
    folder.mkdir()
    (folder / "prereg.yaml").write_text(DESK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, SEED)
        patch.setenv("HELD_OUT_SECRET", SEED)
        assert run(["freeze", str(folder)]) == 0
        assert run(["run", str(folder)]) == 0
    return folder


@pytest.fixture
def revealed(monkeypatch):
    """The seed is at hand, under a secret's name as well."""
    monkeypatch.setenv(VARIABLE, SEED)
    monkeypatch.setenv("HELD_OUT_SECRET", SEED)


@pytest.fixture
def bundled(held_out, tmp_path, capsys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, SEED)
        patch.setenv("HELD_OUT_SECRET", SEED)
        code, said = call(capsys, "bundle", held_out, "-o", tmp_path / "b")
    assert (code, f"the seed of shopdesk is told in it: {SEED}" in said) == (0, True)
    return tmp_path / "b"


def holding(folder: Path) -> list[str]:
    """The files in which the seed's text stands."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if SEED.encode() in path.read_bytes()]


def test_nothing_is_done_without_the_seed(held_out, tmp_path, capsys):
    frozen = unrun(Path(shutil.copytree(held_out, tmp_path / "frozen")))
    out = tmp_path / "b.zip"
    for args in (("freeze", frozen), ("run", frozen), ("bundle", held_out, "-o", out)):
        code, said = call(capsys, *args)
        assert (code, f"reveal the seed in {VARIABLE}" in said) == (2, True)
    assert not out.exists()


def test_another_seed_is_refused(held_out, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, "another")
    code, said = call(capsys, "run", held_out)
    assert (code, "is not the seed that seed_digest commits to" in said) == (2, True)


def test_no_file_of_a_run_holds_the_seed(held_out):
    assert holding(held_out) == []


def test_a_bundle_tells_it_in_one_place(bundled):
    assert holding(bundled) == ["content.json"]
    assert json.loads((bundled / "content.json").read_bytes())["seeds"] == {"shopdesk": SEED}


def test_anybody_verifies_it_and_runs_trials_again(bundled, capsys):
    options = ("--level", "4", "--sample", "2", "--sandbox", "process")
    code, said = call(capsys, "verify", bundled, *options)
    assert (code, "VERIFIED up to level 4" in said) == (0, True)
    rows = {line[7:50].strip(): line for line in said.splitlines() if line.startswith("    3")}
    (told,) = (row for title, row in rows.items() if title.startswith("the seeds told are"))
    (again,) = (row for title, row in rows.items() if title.startswith("the tasks are those"))
    assert ("  yes  " in told, "  yes  " in again) == (True, True)
    assert again.endswith("2 of shopdesk")


def test_a_redacted_bundle_tells_it_too(held_out, tmp_path, capsys, revealed):
    out = tmp_path / "r"
    assert call(capsys, "bundle", held_out, "-o", out, "--redact", "--key", tmp_path / "k")[0] == 0
    assert holding(out) == ["content.json"]
    assert call(capsys, "verify", out)[0] == 0


@pytest.mark.parametrize("seed", ["4f1c9a37d2e85b61", None])
def test_an_altered_seed_fails_and_a_lacking_one_is_told(bundled, capsys, seed):
    path = bundled / "content.json"
    made_of = json.loads(path.read_bytes())
    del made_of["seeds"]
    path.write_text(json.dumps(made_of | ({"seeds": {"shopdesk": seed}} if seed else {})))
    reseal(bundled)
    code, said = call(capsys, "verify", bundled)
    last = said.splitlines()[-1]
    if seed is None:
        assert code == 0
        assert "the seeds told are those committed to: cannot be told, not told, of shopde" in last
        return
    assert code == 1
    assert "NOT VERIFIED, level 3: the seeds told are those committed to: content.json: the" in last
    assert call(capsys, "verify", bundled, "--level", "2")[0] == 0


def test_a_seed_may_be_kept(held_out, tmp_path, capsys, revealed):
    out = tmp_path / "kept"
    code, said = call(capsys, "bundle", held_out, "-o", out, "--keep-seeds")
    assert (code, SEED in said, holding(out)) == (0, False, [])
    code, said = call(capsys, "verify", out)
    assert (code, "not told, of shopdesk" in said) == (0, True)


def seeds_file(folder, text):
    path = folder / "seeds.yaml"
    path.write_text(text)
    return path


def test_a_seed_that_was_kept_and_told_later(held_out, tmp_path, capsys):
    out = tmp_path / "kept"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, SEED)
        assert call(capsys, "bundle", held_out, "-o", out, "--keep-seeds")[0] == 0
    code, said = call(capsys, "verify", out)
    assert "; --seeds FILE takes them where they were told later" in said
    told = seeds_file(tmp_path, f"shopdesk: {SEED}\n")
    again = ("--level", "4", "--sample", "1", "--sandbox", "process")
    code, said = call(capsys, "verify", out, "--seeds", told, *again)
    assert (code, "VERIFIED up to level 4" in said, SEED in said) == (0, True, False), said
    assert "from the seeds given" in said
    assert "2 of shopdesk" in said
    wrong = seeds_file(tmp_path, "shopdesk: another\n")
    code, said = call(capsys, "verify", out, "--seeds", wrong)
    assert (code, "the seeds given: the seed of shopdesk has the digest" in said) == (1, True)


@pytest.mark.parametrize(
    ("text", "level", "why"),
    [
        (f"tau2: {SEED}", 3, "a seed is given for tau2; the suites that commit to one: shopdesk"),
        ("shopdesk: 12", 3, "not as text; put it in quotes"),
        (f"shopdesk: {SEED}", 2, "they are held to the registration from level 3"),
    ],
)
def test_seeds_that_are_of_no_use_here(bundled, tmp_path, capsys, text, level, why):
    told = seeds_file(tmp_path, text)
    code, said = call(capsys, "verify", bundled, "--seeds", told, "--level", level)
    assert (code, why in " ".join(said.split()), SEED in said) == (2, True, False), said


def test_a_kept_seed_stops_a_bundle_that_gives_it_away(held_out, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, SEED)
    folder = Path(shutil.copytree(held_out, tmp_path / "e"))
    name = load(folder).plan[0].trial.pair_group
    (folder / "trials" / name / "r1" / "no_retry.jsonl.part").write_text(f"it was {SEED}")
    out = tmp_path / "b"
    code, said = call(capsys, "bundle", folder, "-o", out, "--keep-seeds")
    assert (code, "the value of $SEED_OF_SHOPDESK_SECRET" in said) == (1, True)
    assert not out.exists()


def test_a_published_folder_tells_what_its_bundle_tells(held_out, tmp_path, capsys, revealed):
    kept = tmp_path / "kept"
    assert call(capsys, "bundle", held_out, "-o", kept, "--keep-seeds")[0] == 0
    for source, files in ((held_out, ["content.json"]), (kept, [])):
        out, key = tmp_path / f"of-{source.name}", tmp_path / "k"
        code, said = call(capsys, "publish", source, "-o", out, "--key", key)
        assert (code, holding(out), SEED in said) == (0, files, bool(files)), said


def test_a_seed_may_be_kept_from_a_published_folder(held_out, bundled, tmp_path, capsys, revealed):
    key = ("--key", tmp_path / "k")
    for number, source in enumerate((held_out, bundled)):
        out = tmp_path / f"{number}"
        code, said = call(capsys, "publish", source, "-o", out, *key, "--keep-seeds")
        assert (code, holding(out), SEED in said) == (0, [], False), said
    told = seeds_file(out, f"shopdesk: {SEED}")
    code, said = call(capsys, "verify", out, "--seeds", told)
    assert (code, "2 of shopdesk" in said) == (0, True), said
    redacted = tmp_path / "r"
    assert call(capsys, "bundle", held_out, "-o", redacted, "--redact", *key)[0] == 0
    out = tmp_path / "none"
    code, said = call(capsys, "publish", redacted, "-o", out, *key, "--keep-seeds")
    assert (code, out.exists(), "and is redacted, so it is" in said) == (2, False, True), said
