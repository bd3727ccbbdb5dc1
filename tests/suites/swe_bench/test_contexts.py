"""A build context holds what the image needs, of the past alone; what is missing is named."""

import json
import subprocess

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench.contexts import (
    find_mirror,
    find_python,
    main,
    requirements_text,
    write_context,
)
from hfr_bench.suites.swe_bench.recipes import Recipe

RECIPE = Recipe(
    repo="hfr/slug",
    versions=("1.0",),
    python="3.11",
    requirements=("nowhere.txt", "dev/all.txt"),
    packages=("b==2",),
    install="python -m pip install -e .",
    test="pytest -rA",
)


@pytest.fixture
def repos(copy_of, slug, tmp_path):
    """A folder with a mirror of slug, whose requirements lie in a later commit than the base."""
    _, run = copy_of
    assert run(
        "mkdir dev && printf -- '-r base.txt\\na==1\\n' > dev/all.txt && echo c==3 > dev/base.txt"
        " && git add -A && git commit -qm later"
    ) == (0, "")
    folder = tmp_path / "mirrors"
    folder.mkdir()
    assert run(f"git clone -q --mirror . {folder}/hfr__slug.git")[0] == 0
    return folder, run("git rev-parse HEAD")[1].strip()


def test_the_mirror_is_found(repos, tmp_path):
    folder, _ = repos
    assert find_mirror(folder, "hfr/slug") == folder / "hfr__slug.git"
    with pytest.raises(BadInputError, match=r"no git mirror of a/b; looked for b, b.git, a__b, .*"):
        find_mirror(folder, "a/b")


def test_the_python_is_found(tmp_path):
    assert find_python(None, "3.11") is None
    with pytest.raises(BadInputError, match=r"wants Python 3.9, the base image has 3.11"):
        find_python(None, "3.9")
    for name in ("3.9.2", "3.9.18", "3.91.1", "3.9.x"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python3.9").touch()
    assert find_python(tmp_path, "3.9") == tmp_path / "3.9.18"
    with pytest.raises(BadInputError, match=r"no 3.10.x/bin/python3.10 in it"):
        find_python(tmp_path, "3.10")


def test_requirements_with_what_they_refer_to(repos, slug):
    folder, later = repos
    mirror = folder / "hfr__slug.git"
    assert requirements_text(mirror, later, RECIPE) == "c==3\na==1\n"
    with pytest.raises(BadInputError, match=r"none of nowhere.txt, dev/all.txt at"):
        requirements_text(mirror, slug[1].problem.base_commit, RECIPE)


def instance_at(slug, commit):
    problem, (_, instance) = slug[1].problem, slug
    return type(instance)(problem, instance.gold, commit, None, instance.where)


def test_a_context(repos, slug, tmp_path):
    folder, later = repos
    pythons = tmp_path / "pythons"
    for path in (
        "3.11.7/bin/python3.11",
        "3.11.7/lib/a.py",
        "3.11.7/lib/test/big.py",
        "3.11.7/lib/site-packages/x",
    ):
        (pythons / path).parent.mkdir(parents=True, exist_ok=True)
        (pythons / path).touch()
    ca = tmp_path / "ca.pem"
    ca.write_text("certificate")
    instance = instance_at(slug, later)
    out = write_context(tmp_path / "out", instance, RECIPE, folder, pythons, base="own:1", ca=ca)
    assert {path.name for path in out.iterdir()} == {
        *("Dockerfile", "environment.sh", "repository.sh", "python", "mirror", "pip.conf", "ca.pem")
    }
    assert {path.name for path in (out / "python" / "lib").iterdir()} == {"a.py"}
    assert "/opt/python/bin/python3.11 -m venv" in (out / "environment.sh").read_text()
    assert (out / "Dockerfile").read_text().count("FROM own:1") == 2
    said = subprocess.run(
        ["/usr/bin/env", "git", "-C", out / "mirror", "log", "--all", "--format=%s"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == "base\n", "nothing later than the base enters the build"
    whole = "".join(p.read_text() for p in out.glob("*") if p.is_file())
    assert "test_lower" not in whole, "the hidden tests do not lie in the image"
    with pytest.raises(BadInputError, match="not empty"):
        write_context(out, instance, RECIPE, folder, pythons)


def test_a_commit_that_the_mirror_lacks(repos, slug, tmp_path, row):
    folder, _ = repos
    rows = tmp_path / "a.jsonl"
    rows.write_text(json.dumps(row(repo="hfr/slug")))
    instance = instance_at(slug, "e" * 40)
    with pytest.raises(BadInputError, match="none of nowhere"):
        write_context(tmp_path / "o", instance, RECIPE, folder)


def test_the_command_line_says_what_is_wrong(repos, tmp_path, row, capsys):
    folder, _ = repos
    rows = tmp_path / "a.jsonl"
    words = [str(rows), "hfr__slug-1", "--repos", str(folder), "-o", str(tmp_path / "out")]
    rows.write_text(json.dumps(row()))
    assert main(words) == 2
    assert "no recipe for hfr/slug 1.0" in capsys.readouterr().err
    rows.write_text(json.dumps(row(repo="pallets/flask", version="2.3")))
    assert main(words) == 2
    assert "no git mirror of pallets/flask" in capsys.readouterr().err
    (folder / "hfr__slug.git").rename(folder / "flask.git")
    assert main(words) == 2
    assert f"no commit {'0' * 40}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
