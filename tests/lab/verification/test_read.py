"""What is no bundle is refused before anything of it is read, and touches nothing outside."""

import stat
import struct
import zipfile

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.verification.verify import verify
from hfr_bench.testing.bundled import failed, replace, reseal, trace


def refused(path):
    with pytest.raises(BadInputError) as error:
        verify(path)
    return str(error.value)


def spoilt(toy, tmp_path, spoil):
    """A zip of which every record of README.md, which is told where it begins, was spoilt.

    `spoil`: takes all bytes, and where README.md's local header and its central one begin.
    """
    path = toy.bundle(tmp_path / "b.zip")
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        local = archive.getinfo("README.md").header_offset
    spoil(data, local, data.rindex(b"README.md", 0, data.rindex(b"PK\5\6")) - 46)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "../out",
        "/tmp/out",
        "a/../../out",
        "C:/out",
        "a\\b",
        "./a",
        "../../out/",
        "a\x1b[2K",
        "a\rb",
    ],
)
def test_a_name_that_leads_out_of_it(toy, tmp_path, name):
    path = toy.bundle(tmp_path / "b.zip", drawn=False)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(zipfile.ZipInfo(name), "x")
    assert f"unsafe name {name!r}" in refused(path)
    assert not (tmp_path / "out").exists()


def test_a_link_in_a_directory(forged):
    (forged / "report.csv").symlink_to("/etc/hostname")
    assert "report.csv is no plain file" in refused(forged)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_a_link_or_device_in_a_zip(toy, tmp_path, kind):
    path = toy.bundle(tmp_path / "b.zip", drawn=False)
    info = zipfile.ZipInfo("report.csv")
    info.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, "/etc/hostname")
    assert "report.csv is no plain file" in refused(path)


def test_a_bomb(toy, tmp_path):
    path = toy.bundle(tmp_path / "b.zip", drawn=False)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.jsonl.bomb", b"\0" * 20_000_000)
    assert "more than 200 times its packed size" in refused(path)


def test_a_bomb_that_lies_about_its_size(toy, tmp_path):
    """Its directory says 10 bytes: no more than that are unpacked."""
    path = toy.bundle(tmp_path / "b.zip", drawn=False)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"\0" * 20_000_000)
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<I", 20_000_000), struct.pack("<I", 10)))
    levels, said = failed(path, 0)
    assert levels == [0]
    assert "bomb" in said


def test_a_bomb_that_lies_about_its_packed_size(toy, tmp_path):
    def swell(data, _local, central):
        data[central + 20 : central + 28] = struct.pack("<II", 2**31, 2**31)

    assert "its members say that they are" in refused(spoilt(toy, tmp_path, swell))


def test_many_small_bombs(toy, tmp_path):
    path = toy.bundle(tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for number in range(70):
            archive.writestr(f"schedules/{number}.jsonl", b"\0" * 2**20)
    assert "it unpacks to more than 200 times its size" in refused(path)


def test_a_header_that_says_something_else_than_the_directory(toy, tmp_path):
    """Another program, which reads the zip as it streams in, would see other bytes."""

    def other(data, local, _central):
        data[local + 14 : local + 18] = b"\0\0\0\0"

    levels, said = failed(spoilt(toy, tmp_path, other), 0)
    assert levels == [0]
    assert "README.md" in said


def test_bytes_that_are_no_files(toy, tmp_path):
    path = toy.bundle(tmp_path / "b.zip")
    plain = path.read_bytes()
    path.write_bytes(b"#!/bin/sh\n" + plain)
    assert "something stands before its first file" in refused(path)
    path.write_bytes(plain)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"psst"
    assert "it has a comment" in refused(path)
    path.write_bytes(plain)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more/", "psst")
    assert "'more/' is a directory with bytes in it" in refused(path)


def test_a_name_that_ends_at_a_zero(toy, tmp_path):
    path = toy.bundle(tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("report.csvXexe", "x")
    path.write_bytes(path.read_bytes().replace(b"report.csvXexe", b"report.csv\0exe"))
    assert "unsafe name" in refused(path)


def test_a_name_in_a_directory_that_a_terminal_would_obey(forged):
    (forged / "a\x1b[2Kb").write_text("x")
    assert r"unsafe name 'a\x1b[2Kb'" in refused(forged)


def test_two_files_of_one_name(toy, tmp_path):
    path = toy.bundle(tmp_path / "b.zip", drawn=False)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("plan.jsonl", "x")
    assert "two files of the same name" in refused(path)
    path.unlink()
    with zipfile.ZipFile(toy.bundle(path), "a") as archive:
        archive.writestr("Plan.jsonl", "x")  # one file, where case is not told apart
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


@pytest.mark.parametrize(
    ("name", "level"),
    [("statement.json", 0), ("report.json", 3), ("redaction.json", 0), ("prereg.yaml", 1)],
)
def test_a_file_that_is_nested_without_end(forged, name, level):
    (forged / name).write_text("[" * 200_000)
    if name != "statement.json":
        reseal(forged)
    assert level in failed(forged)[0]


def test_a_trace_that_is_nested_without_end(forged):
    with trace(forged).open("a") as file:
        file.write('{"v":1,"body":' + "[" * 200_000 + "\n")
    reseal(forged)
    assert failed(forged, 0)[0] == [0]


def test_a_page_of_aliases_that_stand_for_billions(forged):
    bomb = "z0: &z0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"z{n}: &z{n} [{', '.join([f'*z{n - 1}'] * 9)}]\n" for n in range(1, 12))
    config = "sandbox_config:\n" + "".join(f"  {line}\n" for line in bomb.splitlines())
    replace(forged / "prereg.yaml", "sandbox_config: {}\n", config)
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [1]
    assert "its aliases unfold to more than" in said
