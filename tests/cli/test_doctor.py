"""`hfr-bench doctor`: what works here, what does not, and the command that changes it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from hfr_bench import content, plugins
from hfr_bench.cli.main import run
from hfr_bench.lab.doctor import Finding, can_run

pytestmark = pytest.mark.usefixtures("leaky_docker")


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Path]:
    """A distribution that offers the suite `theirs`; its module is still to be written."""
    info = tmp_path / "stranger-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: stranger\nVersion: 1.2\nProvides-Extra: theirs\n"
    )
    (info / "entry_points.txt").write_text("[hfr_bench.suites]\ntheirs = strangers_plug:Suite\n")
    sys.path.insert(0, str(tmp_path))
    plugins.offered.cache_clear()
    yield tmp_path / "strangers_plug.py"
    sys.path.remove(str(tmp_path))
    sys.modules.pop("strangers_plug", None)
    plugins.offered.cache_clear()


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    """What `doctor --json` found, by "group name"."""
    capsys.readouterr()
    run(["doctor", "--json"])
    rows = json.loads(capsys.readouterr().out)["findings"]
    return {f"{row['group']} {row['name']}": row for row in rows}


def test_every_sandbox_suite_and_llm_is_looked_at(capsys):
    found = told(capsys)
    for group in ("sandboxes", "suites", "llms"):
        assert {f"{group} {name}" for name in plugins.offered(group)} <= found.keys()
    for name in ("python", "hfr-bench", "content", "cores", "disk"):
        assert found[f"machine {name}"]["found"]


def test_the_text_ends_with_the_verdict(capsys):
    assert run(["doctor"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("machine\n  ok ")
    assert said.endswith("this machine can run experiments\n")


def test_an_engine_that_does_not_answer_is_told_with_a_command(capsys, no_engine):
    found = told(capsys)["sandboxes docker"]
    assert found["ok"] is False
    assert no_engine in found["found"]
    assert "docker.io" in found["advice"]


@pytest.mark.docker
def test_an_engine_that_answers_is_told_with_its_version(capsys, engine):
    found = told(capsys)["sandboxes docker"]
    assert found["ok"] is True
    assert engine.version()["Version"] in found["found"]
    assert found["advice"] in ("", "hfr-bench images")


def test_a_suite_without_its_tool_host_is_told_with_a_command(capsys, monkeypatch):
    monkeypatch.setenv("HFR_BENCH_TAU2_PYTHON", "/nowhere/python")
    found = told(capsys)["suites tau2"]
    assert "/nowhere/python" in found["found"]
    assert found["advice"]


def test_content_that_is_not_there_is_told(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("HFR_BENCH_CONTENT", str(tmp_path))
    content.kinds.cache_clear()
    found = told(capsys)["machine content"]
    content.kinds.cache_clear()
    assert found["ok"] is False
    assert str(tmp_path) in found["found"]
    assert found["advice"] == "unset HFR_BENCH_CONTENT"


def test_a_strangers_plug_speaks_for_itself(capsys, stranger):
    stranger.write_text(
        dedent("""\
            from hfr_bench.ports.diagnosis import Diagnosis
            class Suite:
                @classmethod
                def diagnose(cls):
                    return Diagnosis(False, "no browser", "apt install chromium")
            """)
    )
    found = told(capsys)["suites theirs"]
    assert (found["ok"], found["found"]) == (False, "no browser")
    assert found["advice"] == "apt install chromium"


def test_a_plug_without_a_word_says_what_it_is(capsys, stranger):
    stranger.write_text('class Suite:\n    """Their tasks."""\n')
    found = told(capsys)["suites theirs"]
    assert (found["ok"], found["found"], found["advice"]) == (None, "Their tasks.", "")


def test_a_plug_that_cannot_be_loaded_says_why_and_names_its_extra(capsys, stranger):
    stranger.write_text("import no_such_module\n")
    found = told(capsys)["suites theirs"]
    assert found["ok"] is False
    assert "no_such_module" in found["found"]
    assert found["advice"] == "pip install --upgrade 'stranger[theirs]'"


@pytest.mark.parametrize(
    ("sandbox", "suite", "fit"),
    [(True, True, True), (None, None, True), (False, True, False), (True, False, False)],
)
def test_one_sandbox_and_one_suite_are_needed(sandbox, suite, fit):
    found = (
        Finding("sandboxes", "broken", False, ""),
        Finding("sandboxes", "a", sandbox, ""),
        Finding("suites", "b", suite, ""),
        Finding("machine", "disk", False, ""),
    )
    assert can_run(found) is fit
