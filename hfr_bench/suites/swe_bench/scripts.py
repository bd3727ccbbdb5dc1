"""The shell scripts of an instance: making its environment and repository, and judging a patch.

All are text; running them is another's work. `eval_script` has the shape of upstream's, marker for
marker, so that one grader reads logs of official images and of ours.
"""

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from hfr_bench.suites.swe_bench.grade import END, EXIT_CODE, START
from hfr_bench.suites.swe_bench.patches import changes, touched
from hfr_bench.suites.swe_bench.rows import Gold, Problem

_HEREDOC = "EOF_114329324912"
_NO_TESTS = (
    ".json",
    ".png",
    "csv",
    ".txt",
    ".md",
    ".jpg",
    ".jpeg",
    ".pkl",
    ".yml",
    ".yaml",
    ".toml",
)
_EXIT_VARIABLE = "HFR_TEST_EXIT_CODE"
_IDENTITY = (
    "git config user.email setup@swebench.config",
    "git config user.name SWE-bench",
)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things lie in an image. `repo`: the repository; `activate`: enters its environment."""

    repo: str
    activate: tuple[str, ...]


CONDA = Layout("/testbed", ("source /opt/miniconda3/bin/activate", "conda activate testbed"))
"""The official images'."""
VENV = Layout("/testbed", ("source /opt/testbed/bin/activate",))
"""Those made by `environment_script` and `repository_script`."""


def environment_script(
    python: str,
    requirements: str,
    packages: Sequence[str],
    *,
    pip: str = "",
    first: Sequence[str] = (),
) -> str:
    """Makes /opt/testbed with a Python and packages; needs an index that pip can reach.

    `python`: the interpreter; `requirements`: the text of the repository's own requirements file,
    files it refers to included already (see `requirement_lines`). `pip`: a wheel of pip's to start
    with, for a Python that does not bring one; `first`: packages that all others may replace.
    """
    bare = " --without-pip" if pip else ""
    lines = [f"{shlex.quote(python)} -m venv{bare} /opt/testbed"]
    lines.append("source /opt/testbed/bin/activate")
    if pip:
        lines.append(f"python {shlex.quote(pip)}/pip install --quiet {shlex.quote(pip)}")
    lines.append("python -m pip install --quiet wheel 'setuptools<81'")
    if first:
        lines.append(f"python -m pip install --quiet {shlex.join(first)}")
    if requirements.strip():
        quoted = shlex.quote(requirements.strip() + "\n")
        lines += [
            f"printf %s {quoted} > /tmp/requirements.txt",
            "python -m pip install --quiet -r /tmp/requirements.txt",
            "rm /tmp/requirements.txt",
        ]
    if packages:
        lines.append(f"python -m pip install --quiet {shlex.join(packages)}")
    return _script(lines)


def requirement_lines(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(requirements, files referred to by -r) of a requirements file: comments and -e . left out.

    `types-pkg_resources`, which is gone from the index, becomes what replaced it.
    """
    wanted, more = [], []
    for raw in text.splitlines():
        line = raw.split(" #")[0].strip()
        if line.startswith("-r"):
            more.append(line[2:].strip())
        elif line and not line.startswith(("#", "-e .", ".[test")):
            gone = re.match(r"types-pkg[_-]resources\b", line)
            wanted.append("types-setuptools" if gone else line)
    return tuple(wanted), tuple(more)


def repository_script(problem: Problem, url: str, install: str, layout: Layout = VENV) -> str:
    """The repository at its base commit, with its past and nothing later, installed.

    `url`: a mirror or the public one. The commit is asked for by its hash (its branch may be gone)
    and brings its ancestors and their tags, no more; it fails if anything else could be seen.
    Setting up may change tracked files: that is committed, so that `git diff` starts empty.
    """
    repo = shlex.quote(layout.repo)
    return _script(
        [
            f"git init --quiet --initial-branch=hfr-empty {repo}",
            f"cd {repo}",
            f"git fetch --quiet {shlex.quote(url)} {problem.base_commit}:refs/heads/main",
            "git checkout --quiet main",
            'if [ -n "$(git rev-list --all --not HEAD | head -n 1)" ]; then',
            '  echo "the repository holds commits that are later than the base" >&2; exit 1',
            "fi",
            *layout.activate,
            install,
            *_IDENTITY,
            "git commit --quiet --allow-empty -am SWE-bench",
        ]
    )


def eval_script(
    problem: Problem, gold: Gold, *, install: str, test: str, layout: Layout = CONDA
) -> str:
    """Judges the repository as it stands: the hidden tests' files put in place, run, and put back.

    To be run by bash, both streams merged: the markers are what `set -x` prints of them. No
    command's failure ends it (there is no `-e`).
    """
    base = problem.base_commit
    put_back = _put_back(base, gold.test_patch)
    tests = " ".join(map(shlex.quote, files_to_test(problem.repo, gold.test_patch)))
    lines = [
        *layout.activate,
        f"cd {layout.repo}",
        f"git config --global --add safe.directory {layout.repo}",
        "git status",
        "git show",
        f"git -c core.fileMode=false diff {base}",
        *layout.activate,
        install,
        put_back,
        f"git apply -v - <<'{_HEREDOC}'\n{gold.test_patch}\n{_HEREDOC}",
        f": '{START}'",
        f"{test} {tests}".strip(),
        f"{_EXIT_VARIABLE}=$?",
        f": '{END}'",
        f'echo "{EXIT_CODE}: ${_EXIT_VARIABLE}"',
        put_back,
    ]
    return "\n".join(["#!/bin/bash", "set -uxo pipefail", *lines]) + "\n"


def with_exit_code(script: str) -> str:
    """A baked row's eval script that also writes down how the test command ended.

    Without it a log in which a patch printed its own results would be believed. A script that does
    so already, or has no end marker on a line of its own, stays as it is.
    """
    lines = script.split("\n")
    ends = [number for number, line in enumerate(lines) if END in line]
    if len(ends) != 1 or EXIT_CODE in script:
        return script
    at = ends[0]
    told = f'echo "{EXIT_CODE}: ${_EXIT_VARIABLE}"'
    return "\n".join([*lines[:at], f"{_EXIT_VARIABLE}=$?", lines[at], told, *lines[at + 1 :]])


def files_to_test(repo: str, test_patch: str) -> tuple[str, ...]:
    """What the test command is given: the files of the test patch, data files left out.

    Django's runner takes modules: tests/a/b.py is a.b there.
    """
    named = [change.new or change.old or "" for change in changes(test_patch)]
    files = [path for path in named if not path.endswith(_NO_TESTS)]
    if repo == "django/django":
        files = [
            path.removesuffix(".py").removeprefix("tests/").replace("/", ".") for path in files
        ]
    return tuple(files)


def _put_back(base: str, test_patch: str) -> str:
    """Test files as they were: from the base commit, or gone where it has none.

    Upstream only checks out, which leaves a new file for the next evaluation to stumble over.
    """
    old = [change.old for change in changes(test_patch) if change.old is not None]
    new = [path for path in touched(test_patch) if path not in old]
    parts = []
    if old:
        parts.append(f"git checkout {base} {shlex.join(old)}")
    if new:
        parts.append(f"rm -f {shlex.join(new)}")
    return "; ".join(parts) or ":"


def _script(lines: Sequence[str]) -> str:
    return "\n".join(["#!/bin/bash", "set -euo pipefail", *lines]) + "\n"


def included(name: str, referred: str) -> str:
    """The path of a file that a requirements file refers to: beside it."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), referred))
