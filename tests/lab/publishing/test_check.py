"""What lies around a published bundle is made again from it: whatever was edited there shows."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.publishing.check import with_derived
from hfr_bench.lab.verification.verify import verify
from hfr_bench.testing.bundled import replace


@pytest.fixture
def forged(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "p"))


@pytest.fixture(scope="module")
def inner(published):
    return verify(published.folder / "bundle")


def wrong(inner, folder: Path) -> str:
    found = with_derived(inner, folder)
    bad = [check for check in found.checks if check.ok is False]
    assert found.verified is not bool(bad)
    return "; ".join(f"{check.check}: {check.detail}" for check in bad)


def rewrite(path: Path, sql: str) -> None:
    """The table in a Parquet file becomes what `sql` makes of it."""
    part = path.with_suffix(".part")
    duckdb.sql(f"COPY (FROM read_parquet('{path}') {sql}) TO '{part}' (FORMAT parquet)")
    part.replace(path)


def reseal(folder: Path) -> None:
    """The metadata files tell the digests of what lies there now."""
    for name, key in (("croissant.json", "distribution"), ("ro-crate-metadata.json", "@graph")):
        data = json.loads((folder / name).read_text())
        for one in data[key]:
            if "sha256" in one:
                held = (folder / one["@id"]).read_bytes()
                one["sha256"] = sha256(held).hexdigest()
                size = f"{len(held)} B" if name == "croissant.json" else str(len(held))
                one["contentSize"] = size
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
        (folder / name).write_text(text)


def test_what_was_made_is_right(inner, folder):
    assert wrong(inner, folder) == ""
    assert len(with_derived(inner, folder).checks) == len(inner.checks) + 3


def test_below_level_3_and_of_a_bundle_that_failed_nothing_more_is_said(inner, folder):
    low = inner.model_copy(update={"level": 2})
    assert with_derived(low, folder) == low
    bad = inner.model_copy(update={"verified": False})
    assert with_derived(bad, folder) == bad


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("README.md", "rehearsal", "live"),
        ("data/records.jsonl", '"end":"accepted"', '"end":"escalated"'),
        ("twin/prereg.yaml", "origin: rehearsal", "origin: live"),
        ("croissant.json", '"description": "', '"description": "The best. '),
        ("ro-crate-metadata.json", '"datePublished": "2026', '"datePublished": "2024'),
    ],
)
def test_a_page_that_was_edited(inner, forged, name, old, new):
    replace(forged / name, old, new)
    reseal(forged)
    assert f"{name} is another, made again" in wrong(inner, forged)


def test_a_digest_that_is_not_the_files(inner, forged):
    replace(forged / "CHECKLIST.md", "- no:", "- yes:")
    said = wrong(inner, forged)
    assert "metadata name the files as they are: croissant.json: CHECKLIST.md is another" in said


def test_rows_that_were_edited(inner, forged):
    rewrite(forged / "data/trials.parquet", "SELECT * REPLACE (0 AS duplicates)")
    reseal(forged)
    assert "data/trials.parquet is another, made again" in wrong(inner, forged)


def test_the_same_rows_as_other_bytes_are_the_same(inner, forged):
    before = (forged / "data/faults.parquet").read_bytes()
    rewrite(forged / "data/faults.parquet", "SELECT *")
    assert (forged / "data/faults.parquet").read_bytes() != before
    reseal(forged)
    assert wrong(inner, forged) == ""


def test_a_file_too_many_and_one_too_few(inner, forged):
    (forged / "data/more.csv").write_text("x\n")
    (forged / "CHECKLIST.md").unlink()
    (forged / ".gitattributes").write_text("*.parquet filter=lfs\n")  # the Hub's own
    said = wrong(inner, forged)
    assert "data/more.csv has no place here; CHECKLIST.md is missing" in said


def test_a_link_is_refused(inner, forged):
    (forged / "data/more.csv").symlink_to("/etc/hostname")
    with pytest.raises(BadInputError, match=r"more\.csv is no plain file"):
        with_derived(inner, forged)


def test_made_by_another_version_it_is_not_compared_and_that_is_said(inner, forged):
    replace(forged / "README.md", "rehearsal", "live")
    replace(forged / "bundle/environment.json", '"code":"', '"code":"0')
    reseal(forged)
    found = with_derived(inner, forged).checks[-1]
    assert found.ok is None
    assert "README.md" in found.detail
