"""Owners: this process lives, a dead one is known to be gone, a stranger's is never."""

import subprocess
import sys
from pathlib import Path

import pytest

from hfr_bench.owner import is_gone, run_id, this_process

TELL = "from hfr_bench.owner import this_process; print(this_process())"


def test_this_process_is_not_gone_and_a_dead_one_is() -> None:
    assert not is_gone(this_process())
    assert this_process() == this_process()
    told = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, check=True)
    assert is_gone(told.stdout.strip())


def test_a_living_other_process_is_not_gone() -> None:
    with subprocess.Popen(
        [sys.executable, "-u", "-c", f"{TELL}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        owner = other.stdout.readline().strip()
        assert owner != this_process()
        assert not is_gone(owner)
        other.kill()
    assert is_gone(owner)


def test_a_reused_pid_is_another_process() -> None:
    host, boot, pid, start = this_process().split("/")
    assert is_gone(f"{host}/{boot}/{pid}/{int(start) - 1}")


def test_after_a_reboot_everybody_is_gone() -> None:
    host, _, pid, start = this_process().split("/")
    assert is_gone(f"{host}/00000000/{pid}/{start}")


@pytest.mark.parametrize("owner", ["", "x", "elsewhere/00000000/1/1", "a/b/c/d", "///"])
def test_whoever_cannot_be_known_is_left_alone(owner: str) -> None:
    assert not is_gone(owner)


def test_a_run_is_an_experiment_in_its_directory(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert run_id(one, "d") == run_id(tmp_path / "x" / ".." / "one", "d")
    assert len({run_id(one, "d"), run_id(two, "d"), run_id(one, "e")}) == 3
    assert len(run_id(one, "d")) == 16
