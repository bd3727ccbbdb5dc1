"""Our metrics against upstream's: as recorded of desktop-env 1.0.2, and as it says here and now."""

import os

import pytest
from corpus import cases
from verdicts import DIGITS, RAISES, ours, recorded, theirs

from hfr_bench.suites.osworld.metrics import METRICS
from hfr_bench.suites.osworld.upstream import HOW, PYTHON, UpstreamMetrics

EVERY = 11


def _differing(found, said):
    return [
        f"{name}: {mine} here, {said[name]} there" for name, mine in found if mine != said[name]
    ]


def test_verdicts_are_those_that_upstream_gave(tmp_path):
    said = recorded()
    found = [(case.name, ours(case)) for case in cases(tmp_path, EVERY)]
    assert len(found) > 1000
    assert not _differing(found, said)


def test_every_metric_is_held_against_upstream():
    tried = {name.partition("/")[0] for name in recorded()}
    assert not set(METRICS) - tried


def test_the_record_has_passes_failures_and_errors_of_nearly_every_metric():
    """A metric that always failed, or always passed, would be held against nothing."""
    by_metric = {}
    for name, verdict in recorded().items():
        by_metric.setdefault(name.partition("/")[0], set()).add(verdict)
    assert not [metric for metric, verdicts in by_metric.items() if len(verdicts) < 2]
    assert RAISES in set.union(*by_metric.values())


@pytest.mark.slow
def test_all_verdicts_are_those_that_upstream_gave(tmp_path):
    said = recorded()
    found = [(case.name, ours(case)) for case in cases(tmp_path)]
    assert {name for name, _ in found} == set(said)
    assert not _differing(found, said)


@pytest.fixture
def upstream():
    if not os.environ.get(PYTHON):
        pytest.skip(f"no Python with desktop-env ({PYTHON}): {HOW}")
    found = UpstreamMetrics.named()
    yield found
    found.close()


@pytest.mark.slow
def test_upstream_says_what_is_recorded_of_it(upstream, tmp_path):
    """Every so many-th case anew, so that the record is known to be true."""
    said = recorded()
    found = [(case.name, theirs(upstream, case)) for case in cases(tmp_path, EVERY)]
    differing = [
        (name, mine) for name, mine in found if mine != said[name] and not _close(mine, said[name])
    ]
    assert not differing


def _close(one, other):
    return RAISES not in {one, other} and abs(one - other) <= 10**-DIGITS
