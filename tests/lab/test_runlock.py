"""One run at a time in a directory, also across processes; the lock dies with its holder."""

import subprocess
import sys
from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.runlock import only_one

HOLD = """
import sys, pathlib
from hfr_bench.lab.runlock import only_one
with only_one(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_one_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BadInputError, match="another"), only_one(tmp_path):
            pass
        holder.kill()
    with only_one(tmp_path):
        pass


def test_it_can_be_taken_again_and_again(tmp_path: Path) -> None:
    for _ in range(3):
        with only_one(tmp_path):
            pass
