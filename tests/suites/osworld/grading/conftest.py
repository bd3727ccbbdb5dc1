"""A desktop that is a dict."""

import sys
from pathlib import Path

import pytest

from hfr_bench.suites.osworld.world import PlainWorld
from hfr_bench.testing.desktop import FakeGuest

sys.path.append(str(Path(__file__).parent))  # checkout, corpus: what several test files use


@pytest.fixture
def guest():
    return FakeGuest()


@pytest.fixture
def world(guest, tmp_path):
    """A desktop whose clock does not move."""
    (tmp_path / "cache").mkdir()
    return PlainWorld(guest, tmp_path / "cache", lambda _: None)
