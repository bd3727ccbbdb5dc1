"""`hfr-bench show` of a real experiment: the whole trial, within 98 columns, without colour."""

import json

import pytest

from hfr_bench.cli.show import WIDTH, show
from hfr_bench.errors import BadInputError
from hfr_bench.lab.register import load
from hfr_bench.lab.store import Store

pytestmark = pytest.mark.tau2


@pytest.fixture
def shown(finished, capsys):
    """What `show` prints of a trial."""

    def call(*arguments):
        capsys.readouterr()
        assert show.main([str(finished), *map(str, arguments)], standalone_mode=False) == 0
        return capsys.readouterr().out

    return call


def test_every_trial_can_be_shown(finished, shown):
    for row in load(finished).plan:
        text = shown(row.trial.trial_id)
        assert row.trial.trial_id in text
        assert row.trial.arm in text.splitlines()[0]
        assert max(len(line) for line in text.splitlines()) <= WIDTH
        assert "\x1b" not in text
        assert "end: " in text


def test_every_fault_of_the_trace_is_told(finished, shown):
    store, told = Store(finished), 0
    for file in store.files():
        bodies = [event.body for event in store.trace(file).events]
        faults = sum(getattr(body, "injection_id", None) is not None for body in bodies)
        assert shown(file.path).count("[INJECTED]") == faults
        told += faults
    assert told > 0


def test_a_group_and_an_arm_name_a_trial(finished, shown):
    trial = load(finished).plan[0].trial
    by_name = shown(f"{trial.pair_group[:10]}/{trial.arm}")
    assert by_name == shown(trial.trial_id)


def test_json_is_one_record(finished, shown):
    trial = load(finished).plan[0].trial
    found = json.loads(shown(trial.trial_id, "--json"))
    assert found["trial_id"] == trial.trial_id
    assert found["result"]["arm"] == trial.arm


def test_a_trial_that_is_not_there(finished):
    with pytest.raises(BadInputError, match="no trial is named 'zzz'"):
        show.main([str(finished), "zzz"], standalone_mode=False)


def test_a_damaged_trace_is_shown_as_far_as_it_goes(copied, capsys):
    trial = load(copied).plan[0].trial
    path = copied / "trials" / trial.pair_group / "r1" / f"{trial.arm}.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], "{"]) + "\n")
    assert show.main([str(copied), trial.trial_id], standalone_mode=False) == 0
    text = capsys.readouterr().out
    assert f"unreadable: trials/{trial.pair_group}/r1/{trial.arm}.jsonl:{len(lines)}" in text
    assert "the trace does not end" in text
