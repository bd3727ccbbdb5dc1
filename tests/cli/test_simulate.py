"""`hfr-bench simulate`: tables beside the paper's, studies in a folder, and what it refuses."""

import json

from hfr_bench import content
from hfr_bench.cli.main import run
from hfr_bench.lab.synthetic.tables import Study

QUICK = ("--seeds", "1", "--tasks", "500", "-n", "1")


def test_a_table_beside_the_papers(capsys):
    assert run(["simulate", "15", *QUICK]) == 0
    told = capsys.readouterr().out
    assert "rules literal" in told
    assert "Table 15" in told
    assert "Table 12" not in told
    assert "86.25" not in told
    assert "92.73" in told


def test_json_is_read_back_and_both_rules_are_told_apart(capsys):
    assert run(["simulate", "13", "--rules", "paper", "--beside", "--json", *QUICK]) == 0
    found = Study.loads(capsys.readouterr().out)
    assert found.rules == "paper"
    by = {(cell.arm, cell.metric): cell for cell in found.cells}
    assert by["HFR", "att"].beside > by["HFR", "att"].ours
    assert by["NoRetry", "att"].beside == by["NoRetry", "att"].ours


def test_another_world(tmp_path, capsys):
    text = (content.root() / "suites" / "synthetic" / "world.yaml").read_text()
    calm = tmp_path / "calm.yaml"
    calm.write_text(text.replace("incident: {model: 0.02", "incident: {model: 0.9"))
    assert run(["simulate", "12", "--world", str(calm), "--json", *QUICK]) == 0
    found = Study.loads(capsys.readouterr().out)
    assert next(c.ours for c in found.cells if (c.arm, c.metric) == ("NoRetry", "SR")) < 20


def test_studies_go_to_a_folder(tmp_path, capsys):
    small = ("--seeds", "1", "--tasks", "500", "-n", "1")
    assert run(["simulate", "studies", "--only", "prices", "-o", str(tmp_path), *small]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["prices.svg", "studies.md"]
    assert "![" in (tmp_path / "studies.md").read_text()
    assert "break-even" in capsys.readouterr().out


def test_studies_as_json(capsys):
    assert run(["simulate", "studies", "--only", "prices", "--json", *QUICK]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "prices"


def test_what_it_refuses(capsys):
    assert run(["simulate", "16"]) == 2
    assert run(["simulate", "12", "--only", "storm"]) == 2
    assert "simulate studies" in capsys.readouterr().err
    assert run(["simulate", "12", "--world", "nowhere.yaml"]) == 2
