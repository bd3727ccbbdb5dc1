"""The folder: a bundle that is verified, tables that say what the traces do, honest pages."""

import hashlib
import json
from pathlib import Path

import duckdb
import pytest
import yaml

from hfr_bench.errors import BadInputError, InvalidExperimentError
from hfr_bench.lab.publishing.columns import QUERIES
from hfr_bench.lab.publishing.layout import How, Source, of_bundle, publish
from hfr_bench.lab.publishing.records import FIELDS
from hfr_bench.lab.scan import Scanner
from hfr_bench.lab.verification.verify import verify
from hfr_bench.testing.bundled import ready, replace, trace

HOW = How(b"k" * 32, {}, Scanner({}))


def bodies(folder: Path, kind: str) -> list[dict]:
    lines = [
        json.loads(line)
        for path in sorted((folder / "bundle").glob("trials/*/r1/*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return [line["body"] for line in lines if line["body"]["type"] == kind]


def table(folder: Path, name: str, columns: str = "*") -> list[tuple]:
    path = folder / "data" / f"{name}.parquet"
    return duckdb.sql(f"SELECT {columns} FROM read_parquet('{path}')").fetchall()


def test_the_bundle_in_it_is_verified(folder, published):
    found = verify(folder / "bundle", expect=published.digest)
    assert found.verified
    assert (folder / "bundle" / "redaction.json").is_file()


def test_the_tables_say_what_the_traces_do(folder, small):
    assert len(table(folder, "trials")) == len(small.experiment.plan)
    for name, kind in (("effects", "effect"), ("decisions", "decided")):
        assert len(table(folder, name)) == len(bodies(folder, kind)) > 0
    ended = [(b["answered"], b["status"], b["latency_us"]) for b in bodies(folder, "attempt_ended")]
    assert table(folder, "attempts", "answered, status, latency_us") == ended
    sent = [(b["point"], b["occurrence"]) for b in bodies(folder, "attempt_started")]
    assert table(folder, "attempts", "point, occurrence") == sent
    told = bodies(folder, "upstream_hit") + bodies(folder, "fault_injected")
    ids = sorted(b["injection_id"] for b in told if b["injection_id"])
    assert sorted(i for (i,) in table(folder, "faults", "injection_id")) == ids != []
    harm = sum(b["result"]["outcome"]["duplicates"] for b in bodies(folder, "trial_ended"))
    assert table(folder, "trials", "sum(duplicates)") == [(harm,)]


def test_a_record_a_trial_with_every_field_of_the_paper(folder, small):
    found = [json.loads(line) for line in (folder / "data/records.jsonl").read_text().splitlines()]
    assert len(found) == len(small.experiment.plan)
    for row, record in zip(small.experiment.plan, found, strict=True):
        assert tuple(name for name in record if name != "v") == FIELDS
        assert record["metadata"]["trial_id"] == row.trial.trial_id
        assert record["outcome"]["arm"] == record["policy"]["arm"] == row.trial.arm
        path = folder / "bundle" / record["metadata"]["trace"]
        kinds = [json.loads(line)["body"]["type"] for line in path.read_text().splitlines()]
        assert len(record["attempts"]) == kinds.count("attempt_ended")
        assert (record["escalation"] is None) is ("escalated" not in kinds)
    assert any(record["fault_schedule"]["met"] for record in found)


def test_the_card_names_every_table_and_the_origin(folder, published):
    head, page = (folder / "README.md").read_text().split("---\n")[1:3]
    said = yaml.safe_load(head)
    files = {one["config_name"]: one["data_files"] for one in said["configs"]}
    assert files.keys() == QUERIES.keys()  # of one format: `datasets` reads no other mixture
    assert all((folder / name).is_file() for name in files.values())
    assert said["license"] == published.licence == "other"  # a suite that nobody listed
    assert "rehearsal" in said["tags"]
    assert "nothing here is a model's result" in page
    assert published.digest in page


def test_metadata_hold_the_digest_of_each_file(folder):
    croissant = json.loads((folder / "croissant.json").read_text())
    crate = json.loads((folder / "ro-crate-metadata.json").read_text())
    said = {one["@id"]: one["sha256"] for one in croissant["distribution"]}
    linked = {one["@id"]: one["sha256"] for one in crate["@graph"] if one["@type"] == "File"}
    assert said == linked
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    for name, digest in said.items():
        assert hashlib.sha256(there[name].read_bytes()).hexdigest() == digest
    unnamed = {name for name in there.keys() - said.keys() if not name.startswith("bundle/trials/")}
    assert unnamed == {"croissant.json", "ro-crate-metadata.json"}
    columns = {f["@id"] for one in croissant["recordSet"] for f in one["field"]}
    assert {"trials/harm", "attempts/latency_us", "effects/changed"} <= columns
    ids = [one["@id"] for one in crate["@graph"]]
    assert len(ids) == len(set(ids))
    parts = next(one for one in crate["@graph"] if one["@id"] == "./")["hasPart"]
    assert {part["@id"] for part in parts} <= set(ids)


def test_the_crate_says_what_ro_crate_asks_for(folder):
    """What its validator calls required or recommended, as far as it can be known here."""
    graph = json.loads((folder / "ro-crate-metadata.json").read_bytes())["@graph"]
    of = {one["@id"]: one for one in graph}
    assert "Profile" in of[of["./"]["conformsTo"]["@id"]]["@type"]
    assert of[of["./"]["publisher"]["@id"]]["@type"] == "Organization"
    assert of["#hfr-bench"]["version"] == of["#hfr-bench"]["softwareVersion"]
    runs = [json.loads(line) for line in (folder / "bundle/run.jsonl").read_text().splitlines()]
    assert of["#run"]["startTime"] == runs[0]["at"] != of["./"]["datePublished"]
    assert all(one["description"] for one in graph if one["@type"] == "File")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib's own, below mlcroissant
def test_mlcroissant_takes_it(folder):
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    pytest.importorskip("pyarrow", reason="mlcroissant reads Parquet with pyarrow")
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert len(list(dataset.records("trials"))) == len(table(folder, "trials"))


def test_rocrate_takes_it(folder):
    rocrate = pytest.importorskip("rocrate.rocrate", reason="rocrate is not installed")
    crate = rocrate.ROCrate(str(folder))
    assert crate.dereference("#run")["instrument"].id == "#hfr-bench"


def test_of_a_bundle_raw_or_redacted_it_is_the_same(small, folder, tmp_path):
    raw = small.bundle(tmp_path / "raw.zip")
    for path in (raw, folder / "bundle"):
        with of_bundle(path) as source:
            made = publish(source, tmp_path / path.stem, HOW)
        assert (made.folder / "bundle/MANIFEST.sha256").read_bytes() == (
            folder / "bundle/MANIFEST.sha256"
        ).read_bytes()


def test_a_changed_bundle_is_not_published(small, tmp_path):
    path = small.bundle(tmp_path / "raw", drawn=False)
    replace(path / "report.md", "rehearsal", "live")
    with pytest.raises(InvalidExperimentError, match=r"report\.md changed"), of_bundle(path):
        pass


def test_what_is_incomplete_only_where_it_is_asked_for_and_all_pages_say_so(tmp_path):
    toy = ready(tmp_path / "e", tasks=2)
    trace(toy.experiment.path).unlink()
    source = Source(toy.experiment, toy.content)
    with pytest.raises(InvalidExperimentError, match="INCOMPLETE"):
        publish(source, tmp_path / "p", HOW)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e"]
    made = publish(source, tmp_path / "p", HOW._replace(incomplete=True))
    assert "INCOMPLETE" in (made.folder / "README.md").read_text()


def test_what_is_in_the_way_is_not_overwritten(small, tmp_path):
    (tmp_path / "p").mkdir()
    with pytest.raises(BadInputError, match="is there already"):
        publish(Source(small.experiment, small.content), tmp_path / "p", HOW)


def test_a_secret_stops_it_and_nothing_is_left(folder, tmp_path):
    how = HOW._replace(scanner=Scanner({"MY_TOKEN": "2026-01-01T00:00:05"}))
    with (
        of_bundle(folder / "bundle") as source,
        pytest.raises(InvalidExperimentError, match="MY_TOKEN"),
    ):
        publish(source, tmp_path / "p", how)
    assert not list(tmp_path.iterdir())
