"""The locks: what a living process holds, and what a dead one no longer does."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hfr_bench.sandboxes.docker import images_cache as cache

HOLD = """
import sys
from hfr_bench.sandboxes.docker import images_cache as cache
cache.hold("thing")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_the_cache_lies_where_the_user_keeps_caches(tmp_path: Path) -> None:
    assert cache.folder() == tmp_path / "hfr-bench"
    assert cache.domain().endswith(f":{tmp_path}/hfr-bench")


def test_a_thing_is_held_as_long_as_its_process_lives() -> None:
    holds = [sys.executable, "-c", HOLD]
    with subprocess.Popen(holds, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with cache.unheld("thing") as free:
            assert not free
        other.kill()
    with cache.unheld("thing") as free:
        assert free


def test_a_process_sees_what_it_holds_itself() -> None:
    cache.hold("mine")
    cache.hold("mine")
    with cache.unheld("mine") as free:
        assert not free


def test_one_at_a_time_is_inside() -> None:
    order: list[str] = []

    def second() -> None:
        with cache.alone("building"):
            order.append("second")

    thread = threading.Thread(target=second)
    with cache.alone("building"):
        thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
