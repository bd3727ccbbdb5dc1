"""The program that runs upstream's metrics, with a package of ours in upstream's place."""

import sys

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.osworld.grade import grade
from hfr_bench.suites.osworld.upstream import PYTHON, UpstreamMetricError, UpstreamMetrics

_PACKAGE = """
from no_such_library.inner import reader
import no_other_library as other
from .more import shared


def half(result, rules, ignore_case=False):
    print("upstream prints")
    return 0.5 if result == rules["expected"] else 0


def alone(result):
    return result


def blind(result):
    return shared(result)


def check_python_file_by_test_suite(path, test):
    return 1


def reads(path):
    return len(open(path).read())


class NoMetric:
    pass


def inherits(result):
    def inside():
        return other.open(result)
    return inside()
"""
_MORE = """
import json
try:
    import orjson_is_not_here
except ImportError:
    orjson_is_not_here = None
from no_such_library import reader


class Kind(reader.Base):
    pass


def shared(result):
    return reader.read(json.loads(result))
"""


@pytest.fixture
def metrics(tmp_path, monkeypatch):
    """Upstream's package as ours of a few metrics, beside two libraries that are not installed."""
    package = tmp_path / "desktop_env" / "evaluators" / "metrics"
    package.mkdir(parents=True)
    for folder in (package.parent, package.parent.parent):
        (folder / "__init__.py").write_text("")
    (package / "__init__.py").write_text(_PACKAGE)
    (package / "more.py").write_text(_MORE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = UpstreamMetrics(sys.executable)
    yield found
    found.close()


def test_a_metric_is_judged_there_and_what_lacks_is_known_beforehand(metrics, tmp_path, world):
    assert metrics.judge("half", "a", {"expected": "a"}, {"ignore_case": True}) == 0.5
    assert metrics.judge("alone", 1, None, {}) == 1.0
    assert metrics.lacks("half") == ()
    assert metrics.lacks("blind") == ("no_such_library",)
    assert metrics.lacks("inherits") == ("no_other_library",)
    assert metrics.lacks("NoMetric") is None
    assert metrics.lacks("none") is None
    with pytest.raises(UpstreamMetricError, match="ImportError: no_such_library is not installed"):
        metrics.judge("blind", "1", None, {})
    with pytest.raises(FileNotFoundError):
        metrics.judge("reads", str(tmp_path / "none"), None, {})
    asked = {
        "func": "half",
        "result": {"type": "rule", "rules": "a"},
        "expected": {"type": "rule", "rules": {"expected": "a"}},
    }
    assert grade(asked, world, metrics).score == 0.5
    assert grade(asked, world).ungradeable == "no metric 'half'"
    found = grade(asked | {"func": "blind"}, world, metrics)
    assert found.ungradeable == "no metric 'blind'; upstream's misses no_such_library"


def test_a_metric_that_would_run_the_agents_code_is_not_used(metrics, world):
    asked = {"func": "check_python_file_by_test_suite", "result": {"type": "rule", "rules": 1}}
    found = grade(asked, world, metrics)
    assert found.score is None
    assert "upstream's misses a sandbox for the agent's own code" in found.ungradeable


def test_a_python_without_upstream_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "desktop_env.py").write_text("")  # a module of the name, and no package
    found = UpstreamMetrics(sys.executable)
    with pytest.raises(InfrastructureError, match=r"broke off at 'list'.*desktop-env==1\.0\.2"):
        found.lacks("half")
    found.close()


def test_what_does_not_run_is_said(tmp_path):
    (tmp_path / "python").write_text("no program")
    with pytest.raises(InfrastructureError, match="does not run"):
        UpstreamMetrics(tmp_path / "python").lacks("half")


def test_the_environment_names_the_python_or_none(monkeypatch, tmp_path):
    monkeypatch.delenv(PYTHON, raising=False)
    assert UpstreamMetrics.named() is None
    monkeypatch.setenv(PYTHON, str(tmp_path / "none"))
    with pytest.raises(BadInputError, match="which is no file: python3 -m venv"):
        UpstreamMetrics.named()
    monkeypatch.setenv(PYTHON, sys.executable)
    assert UpstreamMetrics.named() is not None
