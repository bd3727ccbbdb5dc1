"""run.jsonl: append-only, and readable whatever a dying process left."""

from pathlib import Path

from hfr_bench.lab import runlog
from hfr_bench.model.invocation import Invocation


def line(**fields: object) -> Invocation:
    plain = {"at": "2026-01-01T00:00:00+00:00", "owner": "o", "harness_version": "0"}
    plain |= {"sandbox": "process", "workers": 1, "durability": "process"}
    return Invocation.model_validate(plain | fields)


def test_the_last_line_is_the_last_one_written(tmp_path: Path) -> None:
    assert runlog.last(tmp_path) is None
    for end in (None, "done", None, "stopped"):
        runlog.append(tmp_path, line(end=end))
    last = runlog.last(tmp_path)
    assert last is not None
    assert last.end == "stopped"
    assert len((tmp_path / runlog.RUN_LOG).read_bytes().splitlines()) == 4


def test_a_torn_line_costs_itself_and_no_other(tmp_path: Path) -> None:
    runlog.append(tmp_path, line(end="done"))
    with (tmp_path / runlog.RUN_LOG).open("ab") as file:
        file.write(b'{"at": "torn')
    last = runlog.last(tmp_path)
    assert last is not None
    assert last.end == "done"
    runlog.append(tmp_path, line(end="interrupted"))
    last = runlog.last(tmp_path)
    assert last is not None
    assert last.end == "interrupted"
