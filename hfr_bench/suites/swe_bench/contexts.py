"""A folder from which any container engine builds an instance's image, where no registry gives it.

    python -m hfr_bench.suites.swe_bench.contexts ROWS ID --repos DIR --python DIR -o OUT
    docker build --network host -t NAME OUT

`--repos`: git mirrors (owner/name, owner__name, name; with or without .git). `--python`: Pythons
built for the base image, a folder each, named by version (3.9.18/bin/python3.9, as version managers
keep them). Building needs an index that pip can reach (`--pip-conf` and `--ca` say how), and
Debian's for git and a compiler; running the image needs neither.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench.load import load
from hfr_bench.suites.swe_bench.recipes import Recipe, find_recipe, recipes
from hfr_bench.suites.swe_bench.rows import Instance
from hfr_bench.suites.swe_bench.scripts import (
    environment_script,
    included,
    repository_script,
    requirement_lines,
)

BASE = "docker.io/library/debian:bookworm-slim"
BASE_PYTHON = "3.11"  # Debian bookworm's own
LEFT_OUT = ("__pycache__", "*.a", "test", "idlelib", "share", "config-*", "site-packages")
_PACKAGES = "git patch ca-certificates"
_TO_BUILD = "python3-venv gcc libc6-dev"
_DOCKERFILE = """\
FROM {base} AS made
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \\
    --no-install-recommends {packages} {to_build} >/dev/null
COPY python /opt/python
RUN echo /opt/python/lib > /etc/ld.so.conf.d/hfr-python.conf && ldconfig
COPY pip.conf /etc/pip.conf
COPY environment.sh repository.sh ca.pem /hfr/
ENV BASH_ENV=/hfr/env.sh
RUN echo 'if [ -s /hfr/ca.pem ]; then export PIP_CERT=/hfr/ca.pem; fi' > /hfr/env.sh && \\
    bash /hfr/environment.sh
COPY mirror /hfr/mirror
RUN git config --global --add safe.directory '*' && bash /hfr/repository.sh

FROM {base}
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \\
    --no-install-recommends {packages} python3 >/dev/null && rm -rf /var/lib/apt/lists/*
COPY --from=made /opt /opt
COPY --from=made /testbed /testbed
RUN echo /opt/python/lib > /etc/ld.so.conf.d/hfr-python.conf && ldconfig
ENV PIP_NO_INDEX=1 PIP_NO_BUILD_ISOLATION=0 PIP_DISABLE_PIP_VERSION_CHECK=1
"""
# PIP_NO_BUILD_ISOLATION=0 *switches isolation off* (pip reads it the other way round), so that the
# eval script's `pip install -e .` works without an index.


def find_mirror(repos: Path, repo: str) -> Path:
    """The git mirror of owner/name below a folder. Raises BadInputError listing where it looked."""
    owner, _, name = repo.partition("/")
    tried = [
        repos / f"{where}{end}"
        for where in (f"{owner}/{name}", f"{owner}__{name}", name)
        for end in ("", ".git")
    ]
    for path in tried:
        if (path / "HEAD").is_file() or (path / ".git").exists():
            return path
    raise BadInputError(
        f"{repos}: no git mirror of {repo}; looked for {', '.join(p.name for p in tried)}. "
        f"`git clone --mirror https://github.com/{repo} {tried[-1]}` makes one"
    )


def find_python(pythons: Path | None, version: str) -> Path | None:
    """The folder of the youngest Python of that version; None = the base image's own will do.

    Raises BadInputError where it takes one that is not there.
    """
    if pythons is None:
        if version == BASE_PYTHON:
            return None
        raise BadInputError(
            f"the recipe wants Python {version}, the base image has {BASE_PYTHON}: name a folder "
            f"with {version}.x/bin/python{version} in it by --python"
        )
    found = [
        path
        for path in pythons.iterdir()
        if re.fullmatch(rf"{re.escape(version)}\.\d+", path.name)
        and (path / "bin" / f"python{version}").exists()
    ]
    if not found:
        raise BadInputError(f"{pythons}: no {version}.x/bin/python{version} in it")
    return max(found, key=lambda path: int(path.name.rpartition(".")[2]))


def requirements_text(mirror: Path, commit: str, recipe: Recipe) -> str:
    """The repository's own requirements at a commit, files they refer to first.

    Raises BadInputError if none of the recipe's files is there.
    """
    if not recipe.requirements:
        return ""
    for name in recipe.requirements:
        text = show(mirror, commit, name)
        if text is not None:
            lines, referred = requirement_lines(text)
            inner = [show(mirror, commit, included(name, other)) or "" for other in referred]
            every = [line for more in inner for line in requirement_lines(more)[0]]
            return "".join(f"{line}\n" for line in (*every, *lines))
    raise BadInputError(
        f"{mirror}: none of {', '.join(recipe.requirements)} at {commit}: is the mirror whole?"
    )


def write_context(
    out: Path,
    instance: Instance,
    recipe: Recipe,
    repos: Path,
    pythons: Path | None = None,
    *,
    base: str = BASE,
    pip_conf: Path | None = None,
    ca: Path | None = None,
) -> Path:
    """Write the build context for an instance's image into the empty folder `out`; returns it.

    `pip_conf`: pip's settings while the image is built; `ca`: certificates it is to trust.

    Raises BadInputError: `out` is not empty, no mirror, no Python, a commit that is not there.
    """
    if out.exists() and any(out.iterdir()):
        raise BadInputError(f"{out}: not empty")
    problem = instance.problem
    mirror = find_mirror(repos, problem.repo)
    if not has_commit(mirror, problem.base_commit):
        raise BadInputError(f"{mirror}: no commit {problem.base_commit} ({instance.id})")
    python = find_python(pythons, recipe.python)
    needed = requirements_text(mirror, instance.environment_commit, recipe)
    (out / "python").mkdir(parents=True)
    if python is not None:
        shutil.copytree(
            python,
            out / "python",
            symlinks=True,
            ignore=shutil.ignore_patterns(*LEFT_OUT),
            dirs_exist_ok=True,
        )
    run = f"/opt/python/bin/python{recipe.python}" if python is not None else "/usr/bin/python3"
    scripts = {
        "Dockerfile": _DOCKERFILE.format(base=base, packages=_PACKAGES, to_build=_TO_BUILD),
        "environment.sh": environment_script(run, needed, recipe.packages),
        "repository.sh": repository_script(problem, "file:///hfr/mirror", recipe.install),
        "pip.conf": pip_conf.read_text(encoding="utf-8") if pip_conf else "",
        "ca.pem": ca.read_text(encoding="utf-8") if ca else "",
    }
    for name, text in scripts.items():
        (out / name).write_text(text, encoding="utf-8")
    only_past(mirror, problem.base_commit, out / "mirror")
    return out


def has_commit(mirror: Path, commit: str) -> bool:
    """Whether a repository holds the commit."""
    return _git(mirror, "cat-file", "-e", f"{commit}^{{commit}}") is not None


def only_past(mirror: Path, commit: str, into: Path) -> None:
    """A bare repository of the commit and its ancestors: nothing later enters the build."""
    into.mkdir()
    _git(into, "init", "--quiet", "--bare", "--initial-branch=main")
    fetched = _git(into, "fetch", "--quiet", mirror.resolve().as_uri(), f"{commit}:refs/heads/main")
    if fetched is None:
        raise BadInputError(f"{mirror}: cannot fetch {commit} from it")


def show(mirror: Path, commit: str, name: str) -> str | None:
    """A file of a commit; None if it has none by that name."""
    return _git(mirror, "show", f"{commit}:{name}")


def _git(repo: Path, *words: str) -> str | None:
    """What git says in a repository, whoever owns it; None if it fails."""
    program = shutil.which("git")
    if program is None:
        raise BadInputError("git is not installed here: install it and run again")
    done = subprocess.run(
        (program, "-c", "safe.directory=*", "-C", str(repo), *words),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return done.stdout if done.returncode == 0 else None


def main(words: Sequence[str] | None = None) -> int:
    """The command line; prints the folder. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="contexts", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("rows", help="where the tasks are: a file, a folder, a name on the hub")
    parser.add_argument("id", help="the instance")
    parser.add_argument("--repos", type=Path, required=True, help="a folder of git mirrors")
    parser.add_argument("--python", type=Path, help="a folder of Pythons by version")
    parser.add_argument("--base", default=BASE, help="the image to build on (default: %(default)s)")
    parser.add_argument("--pip-conf", type=Path, help="pip's settings while the image is built")
    parser.add_argument("--ca", type=Path, help="certificates that pip is to trust meanwhile")
    parser.add_argument("-o", "--out", type=Path, required=True, help="the folder to write")
    given = parser.parse_args(words)
    try:
        (instance,) = load(given.rows, [given.id])
        recipe = find_recipe(instance, recipes())
        if recipe is None:
            problem = instance.problem
            raise BadInputError(f"{instance.id}: no recipe for {problem.repo} {problem.version}")
        write_context(
            given.out,
            instance,
            recipe,
            given.repos,
            given.python,
            base=given.base,
            pip_conf=given.pip_conf,
            ca=given.ca,
        )
    except BadInputError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"{given.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
