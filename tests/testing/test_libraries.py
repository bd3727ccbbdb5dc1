"""Other people's programs: which interpreter is asked, and what is said where one is missing."""

import sys

import pytest

from hfr_bench.testing import libraries


@pytest.fixture
def ours(monkeypatch):
    """The interpreter of these tests, by name."""
    monkeypatch.setenv(libraries.VARIABLE, sys.executable)


def test_a_script_is_asked_in_json_and_answers_in_its_last_line(ours, tmp_path):
    script = tmp_path / "s.py"
    script.write_text(
        "import json, os, sys\nprint('noise')\n"
        "quiet = os.environ['LITELLM_LOCAL_MODEL_COST_MAP']\n"
        "print(json.dumps({'got': json.load(sys.stdin), 'quiet': quiet}))"
    )
    assert libraries.call(script, {"a": 1}, 60) == {"got": {"a": 1}, "quiet": "True"}


def test_what_is_missing_is_named_with_what_to_do(ours, tmp_path):
    script = tmp_path / "s.py"
    script.write_text('print(\'{"missing": "openai"}\')')
    for ask in (lambda: libraries.call(script, {}, 60), lambda: libraries.program("no-such-agent")):
        with pytest.raises(libraries.MissingLibraryError, match="make libraries"):
            ask()


def test_a_script_that_fails_is_quoted(ours, tmp_path):
    script = tmp_path / "s.py"
    script.write_text("import sys; sys.exit('why it failed')")
    with pytest.raises(RuntimeError, match=r"s\.py ended with 1: why it failed"):
        libraries.call(script, {}, 60)
