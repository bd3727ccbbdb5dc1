"""Tables for a paper: they compile where there is a TeX, and every sign of a text is only text."""

import re
import shutil
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hfr_bench.lab.rendering.latex import escaped, to_latex
from hfr_bench.model.anytime import AnytimeRow
from hfr_bench.model.report import HypothesisRow

TEX = shutil.which("pdflatex")
DOCUMENT = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}%s\end{document}"
NASTY = r"""\input{x} {a} $b$ &c #d _e %f ~g ^h <i> |j| "k" ≤ ≥ … ± é -- [l] * -1"""
NASTY += "\u00d7 \u2013 \u2014"


@pytest.fixture
def claimed(report):
    row = HypothesisRow(
        id="H_1", metric="sr", arm="hfr", against="no_retry", direction="greater", rate=None,
        pool="rates>0", difference=-0.05, low=-0.1, high=0.02, verdict="not supported",
        why="interval includes 0", test="sign-flip", p=0.5, p_adjusted=1.0,
    )  # fmt: skip
    always = AnytimeRow(id="H_1", tasks=30, of=30, difference=-0.05, low=-0.4, high=0.31)
    return report.model_copy(update={"hypotheses": (row,), "anytime": (always,)})


def test_every_table_tells_its_origin_and_size(claimed):
    text = to_latex(claimed)
    captions = re.findall(r"\\caption\{(.*)\}$", text, re.MULTILINE)
    assert len(captions) == text.count(r"\begin{table}") == 8
    for caption in captions:
        assert r"\textbf{(rehearsal; below protocol (n \textless{} 200))}" in caption
    assert len(set(re.findall(r"\\label\{(.*)\}", text))) == 8


def test_captions_tell_how_their_intervals_were_made(claimed):
    captions = re.findall(r"\\caption\{(.*)\}$", to_latex(claimed), re.MULTILINE)
    by = r"Intervals: 95 \%, 200 resamples of 30 tasks with their trials; percentiles expanded to"
    *made, always = captions
    assert all(by in caption for caption in made)
    assert by not in always


def test_claims_have_their_p_and_their_bounds_at_any_time(claimed):
    text = to_latex(claimed)
    assert "0.500 & 1.000" in text
    assert r"\ensuremath{-}5.0 {\footnotesize [\ensuremath{-}40.0, 31.0]} & no & - " in text


def test_success_and_harm_stand_before_safe_completion(claimed):
    text = to_latex(claimed)
    table = text[text.index("Table B") : text.index("Table C")]
    assert table.index("CSR") < table.index("Harm") < table.index("SCR")
    assert table.index("hfr &") < table.index(r"\textit{always\_escalate}")
    assert table.count(r"\midrule") == 2  # yardsticks stand apart


def test_every_row_has_as_many_cells_as_there_are_columns(claimed):
    for table in to_latex(claimed).split(r"\begin{table}")[1:]:
        columns = len(re.search(r"\{@\{\}(\w+)@\{\}\}", table)[1])
        rows = [line for line in table.splitlines() if line.endswith(r" \\")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {columns}


def test_what_is_wrong_stands_in_every_caption(claimed):
    wrong = to_latex(claimed.model_copy(update={"valid": False}))
    captions = re.findall(r"\\caption\{(.*)\}$", wrong, re.MULTILINE)
    assert all(r"\textbf{INVALID" in caption for caption in captions)


def test_a_minus_is_no_hyphen():
    assert escaped("-3.2, 15.9") == r"\ensuremath{-}3.2, 15.9"
    assert escaped("5-20 % a-b") == r"5-20 \% a-b"


@given(st.text())
@example(NASTY)
def test_no_text_is_markup(text):
    made = escaped(text)
    assert made.isascii()
    assert "\n" not in made
    bare = re.sub(r"\\(?:[a-z]+|[{}$&#_%])", "", made)  # without what we wrote ourselves
    assert not set(bare) & set('\\$&#_%~^<>|"')
    assert bare.count("{") == bare.count("}")


def test_equal_reports_give_equal_bytes(claimed):
    again = type(claimed).model_validate_json(claimed.model_dump_json())
    assert to_latex(again) == to_latex(claimed)


@pytest.mark.skipif(TEX is None, reason="no pdflatex: install texlive-latex-recommended")
def test_it_compiles(claimed, tmp_path):
    row = claimed.hypotheses[0].model_copy(update={"id": NASTY, "why": NASTY})
    always = claimed.anytime[0].model_copy(update={"id": NASTY})
    fields = {"title": NASTY, "hypotheses": (row,), "anytime": (always,)}
    text = to_latex(claimed.model_copy(update=fields))
    (tmp_path / "paper.tex").write_text(DOCUMENT % f"\n{text}\n")
    done = subprocess.run(
        [str(TEX), "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
