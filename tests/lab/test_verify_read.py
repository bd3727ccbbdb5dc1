"""What is no bundle is refused before anything of it is read, and touches nothing outside."""

import stat
import struct
import zipfile

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.verify import verify
from hfr_bench.testing.bundled import failed, replace


def refused(path):
    with pytest.raises(BadInputError) as error:
        verify(path)
    return str(error.value)


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "C:/out", "a\\b", "./a"])
def test_a_name_that_leads_out_of_it(toy, tmp_path, name):
    path = toy.bundle(tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(zipfile.ZipInfo(name), "x")
    assert f"unsafe name {name!r}" in refused(path)
    assert not (tmp_path / "out").exists()


def test_a_link_in_a_directory(forged):
    (forged / "report.csv").symlink_to("/etc/hostname")
    assert "report.csv is no plain file" in refused(forged)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_a_link_or_device_in_a_zip(toy, tmp_path, kind):
    path = toy.bundle(tmp_path / "b.zip")
    info = zipfile.ZipInfo("report.csv")
    info.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, "/etc/hostname")
    assert "report.csv is no plain file" in refused(path)


def test_a_bomb(toy, tmp_path):
    path = toy.bundle(tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.jsonl.bomb", b"\0" * 20_000_000)
    assert "more than 200 times its packed size" in refused(path)


def test_a_bomb_that_lies_about_its_size(toy, tmp_path):
    """Its directory says 10 bytes: no more than that are unpacked."""
    path = toy.bundle(tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"\0" * 20_000_000)
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<I", 20_000_000), struct.pack("<I", 10)))
    levels, said = failed(path, 0)
    assert levels == [0]
    assert "bomb" in said


def test_two_files_of_one_name(toy, tmp_path):
    path = toy.bundle(tmp_path / "b.zip")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("plan.jsonl", "x")
    assert "two files of the same name" in refused(path)


def test_other_things_are_no_bundles(toy, forged, tmp_path):
    assert "no such file" in refused(tmp_path / "nothing")
    assert "neither directory nor zip" in refused(forged / "plan.jsonl")
    assert "no MANIFEST.sha256 at its top" in refused(toy.experiment.path)
    (forged / "bundle.json").write_text("{}")
    assert "bundle.json" in refused(forged)


def test_a_later_layout_is_not_misread(forged):
    replace(forged / "bundle.json", "hfr-bundle@1", "hfr-bundle@2")
    assert "its layout is hfr-bundle@2" in refused(forged)
