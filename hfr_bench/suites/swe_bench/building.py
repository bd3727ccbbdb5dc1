"""What an instance's image is built from on an engine that fetches nothing.

```
git mirror ── base commit and its past ──→ mirror.tar ─┐
Python by version ───────────────────────→ python.tar ─┼─ Dockerfile, no network ─→ image
recipe, the commit's own requirements ─ pip, here ─→ wheels/ ─┘
```

Wheels are fetched, and made where a package has none, on this machine by a Python of the recipe's
version: what `pip install` of the repository's requirements would do.
"""

import fnmatch
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hfr_bench import content
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.model.record import digest
from hfr_bench.suites.swe_bench.contexts import (
    LEFT_OUT,
    find_mirror,
    find_python,
    has_commit,
    only_past,
    requirements_text,
    show,
)
from hfr_bench.suites.swe_bench.recipes import Recipe
from hfr_bench.suites.swe_bench.rows import Instance
from hfr_bench.suites.swe_bench.scripts import environment_script, repository_script

BUILDER = "hfr-swe-bench-image/1"
"""Changes whenever what is built could; part of every image's name."""
PACKAGES = ("git", "patch")
PIP = "23.3.2"  # the last but few that also knows the Pythons of old recipes
_PIP_WHEEL = f"/hfr/wheels/pip-{PIP}-py3-none-any.whl"
_PIP_CONF = "[global]\nno-index = true\nfind-links = /hfr/wheels\nroot-user-action = ignore\n"
_ALWAYS = (("--no-deps", f"pip=={PIP}"), ("wheel", "setuptools<81"))  # environment_script's
_TIMEOUT_S = 1800
_LINES_KEPT = 12


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What this machine has to build with. `repos`: git mirrors; `pythons`: by version."""

    repos: Path
    pythons: Path | None = None


def identity(instance: Instance, recipe: Recipe) -> str:
    """Of an image: of all that it is made of but what indexes say and which patch of a Python."""
    problem = instance.problem
    made_of = [instance.id, problem.repo, problem.base_commit, instance.environment_commit]
    return digest([BUILDER, *made_of, recipe.model_dump(mode="json")])


def dockerfile(role: str) -> str:
    """The text of suites/swe_bench/Dockerfile for an image's role."""
    path = content.root() / "suites" / "swe_bench" / "Dockerfile"
    return path.read_text("utf-8").replace("{role}", role)


def check_ingredients(instance: Instance, recipe: Recipe, given: Ingredients) -> None:
    """Raises BadInputError for what is not there: mirror, commit, requirements, Python."""
    mirror = find_mirror(given.repos, instance.problem.repo)
    for commit in (instance.problem.base_commit, instance.environment_commit):
        if not has_commit(mirror, commit):
            raise BadInputError(f"{mirror}: no commit {commit} ({instance.id})")
    requirements_text(mirror, instance.environment_commit, recipe)
    _interpreter(find_python(given.pythons, recipe.python), recipe.python)


def write_ingredients(out: Path, instance: Instance, recipe: Recipe, given: Ingredients) -> None:
    """Fill the empty folder `out` with the build context of an instance's image.

    Raises BadInputError (see `check_ingredients`), InfrastructureError with what pip said.
    """
    problem = instance.problem
    check_ingredients(instance, recipe, given)
    mirror = find_mirror(given.repos, problem.repo)
    python = find_python(given.pythons, recipe.python)
    needed = requirements_text(mirror, instance.environment_commit, recipe)
    first = build_requires(show(mirror, problem.base_commit, "pyproject.toml") or "")
    with tempfile.TemporaryDirectory(prefix="hfr-mirror-") as made:
        only_past(mirror, problem.base_commit, Path(made) / "mirror")
        _pack(out / "mirror.tar", Path(made) / "mirror", "mirror", ())
    run = "/usr/bin/python3" if python is None else f"/opt/python/bin/python{recipe.python}"
    _pack(out / "python.tar", python, "python", LEFT_OUT)
    _wheels(out / "wheels", _interpreter(python, recipe.python), needed, (first, recipe.packages))
    texts = {
        "environment.sh": environment_script(
            run, needed, recipe.packages, pip=_PIP_WHEEL, first=first
        ),
        "repository.sh": repository_script(problem, "file:///hfr/mirror", recipe.install),
        "pip.conf": _PIP_CONF,
        "activate": (content.root() / "suites" / "swe_bench" / "activate").read_text("utf-8"),
    }
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")


def build_requires(pyproject: str) -> tuple[str, ...]:
    """What a pyproject.toml says that it takes to install the repository; () if it says nothing."""
    try:
        table = tomllib.loads(pyproject).get("build-system", {})
    except tomllib.TOMLDecodeError:
        return ()
    return tuple(str(name) for name in table.get("requires", ()))


def _interpreter(python: Path | None, version: str) -> str:
    """A Python of that version that runs here. Raises BadInputError."""
    if python is not None:
        return str(python / "bin" / f"python{version}")
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    raise BadInputError(
        f"wheels for Python {version} are fetched by one: name a folder with "
        f"{version}.x/bin/python{version} in it by --python"
    )


def _wheels(into: Path, python: str, requirements: str, packages: Sequence[Sequence[str]]) -> None:
    """Everything that the scripts install, each step resolved by itself as they do."""
    into.mkdir()
    steps: list[Sequence[str]] = [*_ALWAYS]
    steps += [names for names in packages if names]
    with tempfile.TemporaryDirectory(prefix="hfr-pip-") as scratch:
        if requirements.strip():
            listed = Path(scratch) / "requirements.txt"
            listed.write_text(requirements, encoding="utf-8")
            steps.append(("-r", str(listed)))
        for step in steps:
            _pip(python, into, step)


def _pip(python: str, into: Path, words: Sequence[str]) -> None:
    quiet = ("--quiet", "--no-input", "--disable-pip-version-check", "--use-pep517")
    done = subprocess.run(
        (python, "-m", "pip", "wheel", *quiet, "--wheel-dir", str(into), *words),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=_TIMEOUT_S,
        env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PYTHONPATH": ""},
    )
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-_LINES_KEPT:])
        raise InfrastructureError(
            f"{python} -m pip could not get the wheels of {' '.join(words)} (an index that pip can "
            f"reach is needed while an image is built):\n{said}"
        )


def _pack(into: Path, folder: Path | None, name: str, leave_out: Sequence[str]) -> None:
    """A folder as a tar, root's and without times; of None an empty folder."""

    def wanted(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        base = info.name.rpartition("/")[2]
        if any(fnmatch.fnmatch(base, pattern) for pattern in leave_out):
            return None
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = "root"
        return info

    with tarfile.open(into, "w") as tar:
        if folder is not None:
            tar.add(folder, name, filter=wanted)
        else:
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
