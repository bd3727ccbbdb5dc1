"""A small experiment, published."""

from pathlib import Path

import pytest

from hfr_bench.lab.publishing.layout import How, Published, Source, publish
from hfr_bench.lab.scan import Scanner
from hfr_bench.testing.bundled import Ready, ready

KEY = b"k" * 32


@pytest.fixture(scope="package")
def small(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    """The experiment; never changed by a test."""
    return ready(tmp_path_factory.mktemp("small") / "e", tasks=5)


@pytest.fixture(scope="package")
def published(small: Ready, tmp_path_factory: pytest.TempPathFactory) -> Published:
    """Its folder; never changed by a test."""
    how = How(KEY, {}, Scanner({}), repo="me/small", twin=True)
    out = tmp_path_factory.mktemp("published") / "p"
    return publish(Source(small.experiment, small.content), out, how)


@pytest.fixture
def folder(published: Published) -> Path:
    return published.folder
