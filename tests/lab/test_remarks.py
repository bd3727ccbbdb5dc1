"""Where tools ran, and early stops: said by the report when they are not as planned."""

from pathlib import Path

from hfr_bench.lab import runlog
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.store import Store
from hfr_bench.model.invocation import Invocation
from hfr_bench.testing.experiments import Planned, planned, write_all
from hfr_bench.testing.results import KINDS


def notes(folder: Path, plan: Planned) -> str:
    report = analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)
    return "\n".join(report.notes)


def test_nothing_is_said_of_a_sandbox_that_is_the_registered_one(tmp_path: Path) -> None:
    plan = planned()
    write_all(tmp_path, plan)
    assert "sandbox" not in notes(tmp_path, plan)


def test_another_sandbox_than_the_registered_one_is_told(tmp_path: Path) -> None:
    plan = planned(sandbox="docker")
    write_all(tmp_path, plan)
    told = notes(tmp_path, plan)
    trials = len(plan.rows)
    assert f"in {trials} of {trials} trials tools ran in sandbox process, while docker" in told


def test_a_pair_group_of_two_images_is_told(tmp_path: Path) -> None:
    plan = planned()
    write_all(tmp_path, plan)
    first = next(file.path for file in Store(tmp_path).files() if "main" in file.group)
    text = first.read_text().replace('"image_id":null', '"image_id":"sha256:other"')
    assert text != first.read_text()
    first.write_text(text)
    assert "1 pair groups are not of one sandbox and image" in notes(tmp_path, plan)


def test_an_early_stop_is_named_as_long_as_trials_are_lacking(tmp_path: Path) -> None:
    plan = planned()
    write_all(tmp_path, plan)
    line = Invocation(
        at="2026-01-01T00:00:00+00:00",
        owner="o",
        harness_version="0",
        sandbox="process",
        workers=1,
        durability="process",
        end="stopped",
        stopped="--max-cost-usd 3: $ 2.99 spent",
    )
    runlog.append(tmp_path, line)
    assert "stopped early" not in notes(tmp_path, plan)
    Store(tmp_path).files()[0].path.unlink()
    assert "stopped early: --max-cost-usd 3: $ 2.99 spent" in notes(tmp_path, plan)
