"""Annotated tags in a real repository of the test's own."""

import shutil
import subprocess

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.tagging import check_tag, commit_of, name_of, tag

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

DIGEST = "0123456789abcdef" * 4


def git(folder, *arguments):
    done = subprocess.run(["git", "-C", str(folder), *arguments],
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """One with a commit, that signs nothing and asks nobody who commits."""
    git(tmp_path, "init", "-q")
    for name, value in (("user.name", "t"), ("user.email", "t@t"), ("tag.gpgSign", "false"),
                        ("commit.gpgSign", "false")):  # fmt: skip
        git(tmp_path, "config", name, value)
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "x")
    return tmp_path


def test_the_tag_holds_the_digests_and_lies_at_the_commit(repository):
    made = tag(repository, "trial", DIGEST, "f" * 64)
    assert made == name_of("trial", DIGEST) == "prereg/trial-0123456789ab"
    assert git(repository, "cat-file", "-t", made) == "tag"
    message = git(repository, "tag", "-l", made, "--format=%(contents)")
    assert DIGEST in message
    assert "f" * 64 in message
    assert git(repository, "rev-parse", f"{made}^{{commit}}") == commit_of(repository)


def test_a_folder_within_the_repository_will_do(repository):
    (repository / "runs" / "a").mkdir(parents=True)
    assert commit_of(repository / "runs" / "a") == git(repository, "rev-parse", "HEAD")


def test_the_same_registration_is_not_tagged_twice(repository):
    tag(repository, "trial", DIGEST, "f" * 64)
    with pytest.raises(BadInputError, match=r"frozen, but not tagged: git says: .*already exists"):
        tag(repository, "trial", DIGEST, "f" * 64)


def test_what_would_fail_is_known_before_the_lock_is_written(repository, monkeypatch):
    check_tag(repository, "prereg/new")
    made = tag(repository, "trial", DIGEST, "f" * 64)
    with pytest.raises(BadInputError, match="is there already"):
        check_tag(repository, made)
    monkeypatch.setenv("GIT_COMMITTER_NAME", "")
    with pytest.raises(BadInputError, match="does not know who you are"):
        check_tag(repository, "prereg/new")


def test_outside_a_repository_or_before_its_first_commit(tmp_path):
    git(tmp_path, "init", "-q")
    with pytest.raises(BadInputError, match="in no git repository with a commit"):
        commit_of(tmp_path)
