"""What an image is built from: the past alone, packages by a Python of the recipe's version."""

import tarfile

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.swe_bench.building import (
    Ingredients,
    build_requires,
    check_ingredients,
    dockerfile,
    identity,
    write_ingredients,
)
from hfr_bench.suites.swe_bench.recipes import Recipe

RECIPE = Recipe(
    repo="hfr/slug",
    versions=("1.0",),
    python="3.9",
    packages=("b==2",),
    install="python -m pip install -e .",
    test="pytest -rA",
)
# Stands for a Python whose pip makes a wheel of whatever it is asked for, and writes that down.
PIP = """\
#!/bin/sh
echo "$*" >> "$(dirname "$0")/../asked"
while [ "$1" != --wheel-dir ]; do shift; done
touch "$2/made.whl"
"""


@pytest.fixture
def given(slug, tmp_path):
    """A mirror of slug, with a later commit in it, and that Python."""
    repo, instance = slug
    repos, pythons = tmp_path / "repos", tmp_path / "pythons"
    (repos / "hfr").mkdir(parents=True)
    (repos / "hfr" / "slug").symlink_to(repo)
    program = pythons / "3.9.7" / "bin" / "python3.9"
    program.parent.mkdir(parents=True)
    program.write_text(PIP)
    program.chmod(0o755)
    (pythons / "3.9.7" / "lib" / "test").mkdir(parents=True)
    problem = instance.problem
    instance = type(instance)(problem, instance.gold, problem.base_commit, None, instance.where)
    return instance, Ingredients(repos, pythons)


def test_the_context_of_a_build(given, tmp_path):
    instance, ingredients = given
    out = tmp_path / "out"
    out.mkdir()
    write_ingredients(out, instance, RECIPE, ingredients)
    assert sorted(path.name for path in out.iterdir()) == [
        *("activate", "environment.sh", "mirror.tar", "pip.conf", "python.tar"),
        *("repository.sh", "wheels"),
    ]
    with tarfile.open(out / "python.tar") as tar:
        assert [m.name for m in tar if m.isfile()] == ["python/bin/python3.9"]
        assert tar.getmember("python/bin/python3.9").mode & 0o111
    with tarfile.open(out / "mirror.tar") as tar:
        assert "mirror/HEAD" in tar.getnames()
        assert {member.uid for member in tar} == {0}
    script = (out / "environment.sh").read_text()
    assert "/opt/python/bin/python3.9 -m venv --without-pip /opt/testbed" in script
    assert "find-links = /hfr/wheels" in (out / "pip.conf").read_text()
    asked = (ingredients.pythons / "3.9.7" / "asked").read_text().splitlines()
    assert asked[-1].endswith("b==2")
    assert [path.name for path in (out / "wheels").iterdir()] == ["made.whl"]


def test_what_pip_could_not_get_is_told(given, tmp_path):
    instance, ingredients = given
    (ingredients.pythons / "3.9.7" / "bin" / "python3.9").write_text(
        "#!/bin/sh\necho no index >&2\nexit 1\n"
    )
    with pytest.raises(InfrastructureError, match=r"could not get the wheels of.*\n.*no index"):
        write_ingredients(tmp_path, instance, RECIPE, ingredients)


def test_what_is_missing_is_named(given, tmp_path):
    instance, ingredients = given
    check_ingredients(instance, RECIPE, ingredients)
    (tmp_path / "none").mkdir()
    with pytest.raises(BadInputError, match=r"no git mirror of hfr/slug"):
        check_ingredients(instance, RECIPE, Ingredients(tmp_path / "none"))
    with pytest.raises(BadInputError, match=r"wants Python 3.9, the base image has 3.11"):
        check_ingredients(instance, RECIPE, Ingredients(ingredients.repos))
    later = type(instance)(instance.problem, instance.gold, "1" * 40, None, instance.where)
    with pytest.raises(BadInputError, match=r"no commit 1{40} \(hfr__slug-1\)"):
        check_ingredients(later, RECIPE, ingredients)


def test_an_image_is_named_by_instance_and_recipe(given):
    instance, _ = given
    other = RECIPE.model_copy(update={"packages": ("b==3",)})
    assert identity(instance, RECIPE) == identity(instance, RECIPE)
    assert identity(instance, RECIPE) != identity(instance, other)
    assert 'LABEL hfr.stage="swe_bench-x"' in dockerfile("swe_bench-x")


def test_what_it_takes_to_install_a_repository():
    assert build_requires('[build-system]\nrequires = ["flit_core<4", "x"]\n') == (
        *("flit_core<4", "x"),
    )
    assert build_requires("") == build_requires("[tool.x]\n") == build_requires("[[") == ()
