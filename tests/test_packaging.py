"""What a user installs: the package with its content, and nothing else at top level."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder that holds the sdist and the wheel, built as `pip` would build them."""
    folder = tmp_path_factory.mktemp("dist")
    _run("-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder), cwd=REPO)
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory) -> Path:
    """A folder with the wheel installed in it, without its dependencies."""
    folder = tmp_path_factory.mktemp("site")
    _run(
        "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(folder), str(wheel)
    )
    return folder


def test_nothing_else_at_top_level(wheel):
    tops = {name.split("/")[0] for name in _names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"hfr_bench"}
    assert len(tops) == 2


def test_the_wheel_holds_all_code_and_content(wheel):
    names = _names(wheel)
    code = {f"hfr_bench/{p}" for p in _files(REPO / "hfr_bench")}
    content = {
        f"hfr_bench/_content/{top}/{p}"
        for top in ("suites", "injectors")
        for p in _files(REPO / top)
    }
    assert content
    assert {name for name in names if ".dist-info/" not in name} == code | content


def test_no_tests_runs_or_caches_travel(wheel):
    assert not [
        name
        for name in _names(wheel)
        if name.endswith((".pyc", ".duckdb")) or {"tests", "runs", ".hosts"} & {*name.split("/")}
    ]


def test_the_source_archive_builds_the_same_wheel(built, wheel, tmp_path):
    (archive,) = built.glob("*.tar.gz")
    unpacked = tmp_path / "source"
    unpacked.mkdir()
    subprocess.run(["tar", "xzf", str(archive), "-C", str(unpacked)], check=True)
    (source,) = unpacked.iterdir()
    assert (source / "constraints.txt").is_file()
    assert (source / "tests").is_dir()
    _run("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=source)
    assert _names(next(tmp_path.glob("*.whl"))) == _names(wheel)


def test_the_installed_package_finds_its_content(site, tmp_path):
    code = (
        "import json; from hfr_bench import content\n"
        "print(json.dumps([str(content.root()), sorted(content.kinds())]))"
    )
    root, kinds = json.loads(_run("-c", code, cwd=tmp_path, path=site))
    assert Path(root) == site / "hfr_bench" / "_content"
    assert kinds == sorted(p.stem for p in (REPO / "injectors" / "kinds").glob("*.yaml"))


def test_the_installed_package_offers_its_plugs(site, tmp_path):
    code = (
        "import json; from hfr_bench import plugins\n"
        "print(json.dumps({g: sorted(plugins.offered(g)) for g in plugins.GROUPS}))"
    )
    offered = json.loads(_run("-c", code, cwd=tmp_path, path=site))
    assert all(offered.values()), offered


def _files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def _run(*arguments: str, cwd: Path | None = None, path: Path | None = None) -> str:
    """What a fresh interpreter prints; `path` comes before everything installed."""
    env = os.environ if path is None else {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=env, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
