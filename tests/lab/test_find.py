"""Naming a trial: by id, by group and arm, by file; what is not clear is listed."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.find import find_trial
from hfr_bench.testing.experiments import planned, write_all


@pytest.fixture(scope="module")
def plan():
    return planned(("no_retry", "hfr"), tasks=12)


@pytest.fixture
def folder(tmp_path, plan):
    write_all(tmp_path, plan)
    return tmp_path


@pytest.mark.parametrize("name", ["t2-0.1-main-hfr", "t2-0.1-main-h", "t2-0.1/hfr"])
def test_one_trial_is_found(folder, plan, name):
    row, file = find_trial(folder, plan.rows, name)
    assert row.trial.trial_id == "t2-0.1-main-hfr"
    assert (file.group, file.round, file.arm) == ("t2-0.1-main", 1, "hfr")


def test_a_file_names_its_trial_and_round(folder, plan):
    write_all(folder, plan, round_=2)
    path = folder / "trials" / "t2-0.1-main" / "r1" / "hfr.jsonl"
    _, file = find_trial(folder, plan.rows, str(path))
    assert file.path == path
    assert find_trial(folder, plan.rows, "t2-0.1/hfr")[1].round == 2
    assert find_trial(folder, plan.rows, "t2-0.1/hfr", 1)[1].round == 1


def test_more_than_one_is_listed(folder, plan):
    with pytest.raises(BadInputError, match=r"26 trials are named 't1'|trials are named") as raised:
        find_trial(folder, plan.rows, "t1")
    assert "t1-0-main-no_retry  t1-0-main/no_retry  s/t1 seed 1 rate 0" in str(raised.value)
    assert "more" in str(raised.value).splitlines()[-1]


@pytest.mark.parametrize("name", ["nothing", "t2-0.1/nobody", ""])
def test_none_is_told_how(folder, plan, name):
    with pytest.raises(BadInputError, match="no trial is named") as raised:
        find_trial(folder, plan.rows, name)
    assert "t1-0-main-no_retry" in str(raised.value)


def test_one_that_was_not_run_is_told_so(tmp_path, folder, plan):
    with pytest.raises(BadInputError, match="there are rounds 1"):
        find_trial(folder, plan.rows, "t2-0.1/hfr", 3)
    with pytest.raises(BadInputError, match="`hfr-bench run` it first"):
        find_trial(tmp_path / "empty", plan.rows, "t2-0.1/hfr")
