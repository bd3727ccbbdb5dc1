"""A second process changes how long a verification takes, and nothing of what it finds."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hfr_bench.lab.verification import helper
from hfr_bench.lab.verification.crew import Crew, may_fork
from hfr_bench.lab.verification.verify import verify
from hfr_bench.testing.bundled import rechain, replace, reseal, trace


@pytest.fixture(scope="module")
def crew():
    with Crew(2) as crew:
        crew.begin()
        assert crew.helped
        yield crew


def same(path: Path, crew: Crew) -> bool:
    """Whether it was verified; alike with a helper and without."""
    found = verify(path, crew=crew)
    assert found == verify(path)
    return found.verified


def flip(folder: Path) -> None:
    path = trace(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def drop(folder: Path) -> None:
    trace(folder).unlink()
    reseal(folder)


def swap(folder: Path) -> None:
    one, other = trace(folder, "hfr"), trace(folder, "no_retry")
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)
    reseal(folder)


def edit(folder: Path) -> None:
    def flip_goal(events):
        events[-1]["body"]["result"]["outcome"]["goal_met"] ^= True

    rechain(trace(folder), flip_goal)
    reseal(folder)


def shift(folder: Path) -> None:
    replace(folder / "schedules" / "s-stress-0.4.jsonl", '"occurrence":1', '"occurrence":2')
    reseal(folder)


def unreadable(folder: Path) -> None:
    (folder / "plan.jsonl").write_text("{}\n")
    reseal(folder)


@pytest.mark.parametrize("spoil", [flip, drop, swap, edit, shift, unreadable])
def test_a_forgery_is_caught_alike(forged, crew, spoil):
    spoil(forged)
    assert not same(forged, crew)


def test_a_true_bundle_is_verified_alike(toy_bundle, crew):
    assert same(toy_bundle, crew)


@pytest.mark.slow
def test_a_page_drawn_by_the_helper_is_held_against_the_one_in_the_bundle(
    drawn_bundle, crew, tmp_path
):
    assert same(drawn_bundle, crew)
    forged = Path(shutil.copytree(drawn_bundle, tmp_path / "b"))
    replace(forged / "report.html", "rehearsal", "live")
    reseal(forged)
    assert not same(forged, crew)


def test_pages_of_a_forged_report_are_not_taken_for_those_of_the_made_one(forged, crew):
    """Report and page forged to agree: the helper draws them alike, and they do not count."""
    replace(forged / "report.json", '"title":"', '"title":"Better: ')
    content, said = ((forged / name).read_bytes() for name in ("content.json", "report.json"))
    drawn = helper.drawn_pages(forged, forged, content, said, html=False)
    (forged / "report.md").write_bytes(drawn["report.md"])
    reseal(forged)
    found = verify(forged, crew=crew)
    assert found == verify(forged)
    wrong = [check.check for check in found.checks if check.ok is False]
    assert "report.json follows from the traces" in wrong
    assert "report.md shows that report" in wrong


def test_a_process_with_another_thread_is_not_forked_and_finds_the_same(toy_bundle):
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert not may_fork()
        with Crew(2) as crew:
            crew.expect()  # it takes long to start
            assert crew.helped
            assert same(toy_bundle, crew)
    finally:
        done.set()
        other.join()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="who counts threads is Linux")
def test_a_fork_has_what_was_loaded_before():
    code = """\
import wave
from hfr_bench.lab.verification.crew import Crew
with Crew(2) as crew:
    crew.expect()
    early = crew.helped
    crew.begin()
    print(early, crew.helped, crew.ask(eval, "'wave' in __import__('sys').modules")())
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=300
    )
    assert ran.stdout.split() == [b"False", b"True", b"True"]


def test_results_come_in_the_order_of_the_jobs(crew):
    jobs = list(range(-50, 0))
    assert list(crew.share(abs, lambda n: -n, jobs)) == [-n for n in jobs]
    assert list(Crew(1).share(abs, lambda n: -n, jobs)) == [-n for n in jobs]


def test_what_no_helper_has_begun_is_done_here_meanwhile(crew, tmp_path):
    jobs = [tmp_path / str(n) for n in range(10)]
    os.mkfifo(jobs[0])  # whoever reads it waits for what is written to it
    for job in jobs[1:]:
        job.write_text("there")
    opened = []

    def meanwhile():
        opened.append(jobs[0].open("w"))  # once somebody reads it

    def here(job):
        if job == jobs[5]:
            opened[0].write("there")
            opened[0].close()
        return "here"

    found = list(crew.share(Path.read_text, here, jobs, meanwhile))
    assert (found[0], found[5:]) == ("there", ["here"] * 5)


def test_what_a_helper_fails_at_is_done_here(crew):
    assert crew.ask(int, "seven", here=lambda: 7)() == 7
    with pytest.raises(ValueError, match="seven"):
        crew.ask(int, "seven")()


def test_a_helper_that_dies_is_not_missed():
    with Crew(2) as crew:
        crew.begin()
        assert crew.ask(os._exit, 1, here=lambda: 7)() == 7
        assert crew.ask(abs, -7)() == 7
        assert list(crew.share(abs, abs, [-1, -2])) == [1, 2]


@pytest.mark.slow
def test_a_helper_ends_when_whom_it_helps_is_killed():
    code = """\
import os, signal
from hfr_bench.lab.verification.crew import Crew
crew = Crew(2)
crew.begin()
print(crew.ask(os.getpid)(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    # Its output ends only when everybody has gone who could write to it: it would time out.
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=300
    )
    assert ran.returncode == -signal.SIGKILL
    assert int(ran.stdout) > 0


def test_one_process_alone_begins_no_other():
    with Crew(1) as crew:
        crew.begin()
        assert not crew.helped
