"""`hfr-bench report` of a real experiment: a page by default, all of it with --full."""

import subprocess
import sys

import pytest

from hfr_bench.cli.main import run

pytestmark = pytest.mark.tau2


@pytest.fixture
def shown(finished, capsys):
    """What a report with some options prints, as lines."""

    def call(*options):
        capsys.readouterr()
        assert run(["report", str(finished), *options]) == 0
        return capsys.readouterr().out.splitlines()

    return call


def test_a_page_by_default_and_all_of_it_in_full(shown, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    page, everything = shown(), shown("--full")
    assert len(page) < 90 < len(everything)
    assert 80 < max(len(line) for line in page) <= 100
    assert any(line.startswith("Under faults (20 %) | rehearsal") for line in page)
    assert not any("Table B" in line for line in page)
    assert any("Table B" in line for line in everything)


@pytest.mark.parametrize("width", [80, 100])
def test_columns_are_kept_to(shown, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(len(line) for line in shown()) <= width


def test_markdown_is_complete_without_full(shown):
    assert shown("--format", "md") == shown("--format", "md", "--full")


def test_a_report_is_the_same_every_time(shown):
    assert shown("--json") == shown("--json")


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.html", "<!doctype html>"), ("r.json", '{"v":1'), ("r.csv", "origin,"), ("r.txt", "# ")],
)
def test_a_file_s_name_says_what_it_holds(finished, shown, tmp_path, name, start):
    path = tmp_path / "new" / name
    assert shown("-o", str(path)) == [f"wrote {path}"]
    assert path.read_text(encoding="utf-8").startswith(start)


def test_html_is_the_same_every_time(shown):
    page = shown("--format", "html")
    assert page[0] == "<!doctype html>"
    assert shown("--format", "html") == page


def test_without_the_extra_html_says_what_it_needs(finished):
    program = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from hfr_bench.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    arguments = ["report", str(finished), "--format", "html"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install 'hfr-bench[report]'" in done.stderr
