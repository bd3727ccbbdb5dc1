"""An annotated git tag over a frozen experiment: its digests, in somebody's history. Never pushed.

A git date proves nothing by itself: it does once the tag is published where its owner cannot move
it back. So a tag is made only when asked for, and what pushes it is the user.
"""

import shutil
import subprocess
from pathlib import Path

from hfr_bench.errors import BadInputError


def commit_of(folder: Path) -> str:
    """The commit that the folder's repository is at.

    Raises BadInputError without git, outside a repository, and in one without a commit.
    """
    if shutil.which("git") is None:
        raise BadInputError("--tag: git is not installed here; freeze without it")
    code, said = _git(folder, "rev-parse", "--verify", "HEAD^{commit}")
    if code:
        raise BadInputError(
            f"--tag: {folder} is in no git repository with a commit; `git init` and commit, or "
            "freeze without --tag"
        )
    return said.strip()


def check_tag(folder: Path, made: str) -> None:
    """Whether a tag can be made: nobody has it, and git knows who makes it.

    Asked before the lock is written, which names the tag. Raises BadInputError.
    """
    code, _ = _git(folder, "rev-parse", "--quiet", "--verify", f"refs/tags/{made}")
    if code == 0:
        raise BadInputError(f"--tag: {made} is there already; freeze without --tag, or delete it")
    code, said = _git(folder, "var", "GIT_COMMITTER_IDENT")
    if code:
        raise BadInputError(f"--tag: git does not know who you are: {said.strip()}")


def name_of(name: str, digest: str) -> str:
    """The tag of a registration."""
    return f"prereg/{name}-{digest[:12]}"


def tag(folder: Path, name: str, digest: str, lock_sha256: str) -> str:
    """Make the tag at the commit that is checked out; returns its name.

    Raises BadInputError, with what git says, if it cannot be made.
    """
    made = name_of(name, digest)
    message = f"preregistration {name}\n\nprereg (RFC 8785, SHA-256): {digest}\n"
    message += f"prereg.lock.json (SHA-256): {lock_sha256}\n"
    code, said = _git(folder, "tag", "--annotate", made, "--message", message)
    if code:
        raise BadInputError(
            f"{folder} is frozen, but not tagged: git says: {said.strip()}. By hand: "
            f"git tag -a {made} -m 'prereg {digest}'"
        )
    return made


def _git(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],  # noqa: S607 - the user's own git
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr
