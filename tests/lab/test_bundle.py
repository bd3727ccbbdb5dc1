"""A bundle: deterministic, complete, free of secrets and names; refused where it would mislead."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError, InvalidExperimentError
from hfr_bench.lab.bundle import this_machine
from hfr_bench.lab.scan import Scanner
from hfr_bench.lab.seal import known, manifest, read_manifest
from hfr_bench.model.bundle import Bundle
from hfr_bench.model.record import canonical
from hfr_bench.testing.bundled import OWNER, ready


@pytest.fixture
def made(tmp_path):
    return ready(tmp_path / "e", tasks=3)


def test_the_same_experiment_gives_the_same_bytes(made, tmp_path):
    one, other = made.bundle(tmp_path / "a" / "1.zip"), made.bundle(tmp_path / "2.zip")
    assert one.read_bytes() == other.read_bytes()
    made.bundle(one)  # a zip is replaced
    assert one.read_bytes() == other.read_bytes()


def test_zip_and_directory_hold_the_same(made, tmp_path):
    folder = made.bundle(tmp_path / "b")
    with zipfile.ZipFile(made.bundle(tmp_path / "b.zip")) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        assert all(known(name) for name in archive.namelist())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "b.zip", "e"]


def test_anybody_can_check_the_manifest(made, tmp_path):
    folder = made.bundle(tmp_path / "b", drawn=False)
    subprocess.run(["sha256sum", "-c", "--quiet", "MANIFEST.sha256"], cwd=folder, check=True)
    listed = set(read_manifest((folder / "MANIFEST.sha256").read_bytes()))
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert there - listed == {"MANIFEST.sha256", "statement.json"}


def test_what_the_bundle_says_of_itself(made, tmp_path):
    folder = made.bundle(tmp_path / "b", drawn=False)
    raw = (folder / "bundle.json").read_bytes()
    says = Bundle.loads(raw)
    assert raw == canonical(json.loads(raw)) + b"\n"
    assert (says.complete, says.valid, says.name) == (True, True, "test")
    assert len(says.chains) == len(made.experiment.plan)
    said = json.loads((folder / "statement.json").read_bytes())
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicate"]["traces_digest"] == says.traces_digest
    assert "believe no number" not in (folder / "README.md").read_text()


def test_nothing_of_the_machine_is_in_it(made, tmp_path):
    folder = made.bundle(tmp_path / "b", scanner=this_machine(made.experiment))
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert OWNER.split("/")[0].encode() not in everything
    assert str(tmp_path).encode() not in everything
    assert '"owner":"process 1"' in (folder / "run.jsonl").read_text()


def test_what_interrupted_runs_left_is_kept(made, tmp_path):
    group = next((made.experiment.path / "trials").iterdir()) / "r1"
    for name in ("hfr.jsonl.interrupted-1", "hfr.jsonl.part"):
        (group / name).write_text('{"half')
    (group / "editor.tmp").write_text("not ours")
    folder = made.bundle(tmp_path / "b", drawn=False)
    says = Bundle.loads((folder / "bundle.json").read_bytes())
    assert [name.rpartition("/")[2] for name in says.archived] == [
        "hfr.jsonl.interrupted-1",
        "hfr.jsonl.part",
    ]
    assert all((folder / name).is_file() for name in says.archived)


def test_a_half_written_line_of_the_run_journal_is_left_out(made, tmp_path):
    with (made.experiment.path / "run.jsonl").open("a") as log:
        log.write('{"v":1,"owner":"somebodys-')
    folder = made.bundle(tmp_path / "b", drawn=False)
    assert len((folder / "run.jsonl").read_text().splitlines()) == 2


def test_a_secret_stops_it_and_nothing_is_left(made, tmp_path):
    path = made.experiment.path / "prereg.yaml"
    path.write_text(f"{path.read_text()}# key: hunter2-hunter2\n")
    scanner = Scanner({"MY_API_KEY": "hunter2-hunter2"})
    with pytest.raises(InvalidExperimentError) as error:
        made.bundle(tmp_path / "b.zip", scanner=scanner, drawn=False)
    assert "prereg.yaml:" in str(error.value)
    assert "the value of $MY_API_KEY" in str(error.value)
    assert "hunter2" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e"]


def test_a_path_of_this_machine_stops_it_unless_allowed(made, tmp_path):
    path = made.experiment.path / "prereg.yaml"
    path.write_text(f"{path.read_text()}# made in {Path.home() / 'x'}\n")
    with pytest.raises(InvalidExperimentError, match="a path of this machine"):
        made.bundle(tmp_path / "b", scanner=this_machine(made.experiment), drawn=False)
    assert not (tmp_path / "b").exists()
    allowed = this_machine(made.experiment, places=False)
    made.bundle(tmp_path / "b", scanner=allowed, drawn=False)


def test_what_looks_like_a_password_stops_it_unless_allowed(made, tmp_path):
    path = made.experiment.path / "prereg.yaml"
    path.write_text(f"{path.read_text()}# {'password'}: admin1234\n")
    with pytest.raises(InvalidExperimentError, match=r"a named secret \(--with-named"):
        made.bundle(tmp_path / "b", scanner=this_machine(made.experiment), drawn=False)
    allowed = this_machine(made.experiment, named=False)
    made.bundle(tmp_path / "b", scanner=allowed, drawn=False)


def test_an_incomplete_experiment_only_with_a_warning(made, tmp_path):
    next((made.experiment.path / "trials").glob("*/r1/hfr.jsonl")).unlink()
    with pytest.raises(InvalidExperimentError, match=r"INCOMPLETE.*--incomplete"):
        made.bundle(tmp_path / "b")
    folder = made.bundle(tmp_path / "b", incomplete=True, drawn=False)
    assert Bundle.loads((folder / "bundle.json").read_bytes()).complete is False
    assert "INCOMPLETE" in (folder / "README.md").read_text()


def test_what_is_in_the_way_is_not_overwritten(made, tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(BadInputError, match="is there already"):
        made.bundle(tmp_path / "b", drawn=False)
    (tmp_path / "c.zip.part").write_text("x")
    with pytest.raises(BadInputError, match="in the way"):
        made.bundle(tmp_path / "c.zip", drawn=False)
    assert (tmp_path / "c.zip.part").read_text() == "x"


@pytest.mark.parametrize(
    "text",
    [
        "abc  x\n",
        f"{'0' * 64} x\n",
        f"{'0' * 64}  b\n{'0' * 64}  a\n",
        f"{'0' * 64}  a\n" * 2,
        "\n",
    ],
)
def test_a_manifest_of_another_layout_is_not_read(text):
    with pytest.raises(ValueError, match="MANIFEST"):
        read_manifest(text.encode())


def test_a_manifest_is_read_as_written():
    entries = {"b": "0" * 64, "a/ü": "1" * 64}
    assert read_manifest(manifest(entries)) == entries
