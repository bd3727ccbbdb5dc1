"""`hfr-bench review`: on the terminal, in a browser, its sums; ^C loses nothing."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from hfr_bench.cli.main import run
from hfr_bench.cli.review import WIDTH, review
from hfr_bench.lab.register import load
from hfr_bench.lab.review.book import read
from hfr_bench.testing.bundled import ready
from hfr_bench.testing.reviewing import rate_all, session

PATIENCE_S = 120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A toy experiment that has been run."""
    return ready(tmp_path / "e").experiment.path


@pytest.fixture
def said(folder, capsys):
    """What the verb prints, and its exit code."""

    def call(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(["review", str(folder), *arguments]) == code
        done = capsys.readouterr()
        return done.out if code == 0 else done.err

    return call


def typed(folder: Path, text: str):
    return CliRunner().invoke(review, [str(folder), "--rater", "ann", "--terminal"], input=text)


def test_the_terminal_asks_writes_and_goes_on(folder):
    done = typed(folder, "y\nn\nfine so far\nperhaps\nc\ny\n\nq\n")
    assert done.exit_code == 0
    assert "'perhaps' is not one of" in done.output
    assert [(r.goal_met, r.misdeed, r.note) for r in read(folder).ratings] == [
        ("yes", "no", "fine so far"), ("cannot_tell", "yes", ""),
    ]  # fmt: skip
    shown = [line for line in done.output.splitlines() if "(y yes, " not in line]
    assert max(map(len, shown)) <= WIDTH
    assert "\x1b" not in done.output
    for arm in ("no_retry", "always_escalate", "blind_resend"):
        assert arm not in done.output
    assert "trial 3 of" in typed(folder, "q\n").output
    assert typed(folder, "y\nq\n").exit_code == 0
    assert len(read(folder).ratings) == 2


def test_the_input_s_end_interrupts_and_loses_nothing(folder):
    assert typed(folder, "y\nn\n\ny\n").exit_code == 1  # click's own word for an abort
    assert len(read(folder).ratings) == 1


def test_all_rated(folder):
    rate_all(load(folder), "ann")
    done = typed(folder, "")
    total = len(session(load(folder)).showings)
    assert done.output.splitlines()[-1] == f"{total} of {total} rated by ann"


@pytest.fixture
def served(folder):
    """A review in a browser: its process, and its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "hfr_bench", "review", str(folder), "--rater", "ann"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ},
    ) as child:  # fmt: skip
        lines = iter(child.stdout)
        yield child, next(line.split()[1] for line in lines if line.startswith("open http://"))
        child.kill()


def rate_over(url: str, alias: str) -> None:
    form = urlencode({"goal_met": "yes", "misdeed": "no"}).encode()
    with urllib.request.urlopen(url + alias, form, timeout=PATIENCE_S) as answer:
        assert answer.status == 200


def test_an_interrupt_loses_nothing(folder, served):
    alias = session(load(folder)).after()
    child, url = served
    rate_over(url, alias)
    child.send_signal(signal.SIGINT)
    assert child.wait(PATIENCE_S) == 130
    assert "run again to go on" in child.communicate()[1]
    assert [r.item for r in read(folder).ratings] == [alias]
    assert session(load(folder)).rated == 1


@pytest.mark.slow
def test_the_page_ends_a_session(served):
    child, url = served
    with urllib.request.urlopen(url + "end", b"", timeout=PATIENCE_S) as answer:
        assert "The session has ended" in answer.read().decode()
    out, err = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, err) == (0, "")
    assert out.splitlines()[-1].startswith("0 of ")


def test_the_summary_as_text_and_as_a_record(said, folder):
    assert "nobody has rated anything of this draw" in said("--summary")
    rate_all(load(folder), "ann")
    rate_all(load(folder), "bob", lambda _: ("yes", "cannot_tell"))
    text = said("--summary")
    for title in ("Blinded spot check | rehearsal", "What people found", "Agreement"):
        assert title in text
    found = json.loads(said("--summary", "--json"))
    assert found["origin"] == "rehearsal"
    assert [r["rater"] for r in found["raters"]] == ["ann", "bob"]
    assert {s["rater"] for s in found["shares"]} == {"ann", "bob", "majority"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--share", "0.2"), "--share 0.2: the protocol asks for 0.05 to 0.1"),
        (("--rater", "../ann"), "--rater '../ann': up to 40 letters"),
        (("--json",), "--json belongs to --summary"),
    ],
)
def test_bad_input_is_refused_in_words(said, folder, arguments, message):
    assert message in said(*arguments, code=2)
    assert not (folder / "reviews").exists()


def test_another_share_than_what_was_rated(said, folder):
    rate_all(load(folder), "ann")
    assert "was drawn with 0.1; leave --share out" in said("--summary", "--share", "0.05", code=2)


def test_what_is_not_finished_is_not_looked_over(said, folder):
    next((folder / "trials").rglob("*.jsonl")).unlink()
    assert "pair groups are not finished" in said("--summary", code=2)


@pytest.mark.tau2
def test_a_real_experiment_s_report_has_the_section(copied, capsys):
    experiment = load(copied)
    rate_all(experiment, "ann")
    assert session(experiment).told[0].startswith("tau2: tasks are shown by id, ")
    capsys.readouterr()
    assert run(["report", str(copied), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["review"]
    assert found["raters"][0]["rater"] == "ann"
    assert run(["report", str(copied)]) == 0
    assert "Blinded spot check | rehearsal" in capsys.readouterr().out
