"""A stranger's forgeries, all seals made anew: each is told at the level that it belongs to."""

import json

import yaml

from hfr_bench.lab.verification.verify import verdict, verify
from hfr_bench.testing.bundled import failed, forge, rechain, replace, reseal, trace


def swap_first_lines(path):
    first, second, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join((second, first, *rest)))


def test_schedules_in_another_order_than_they_are_drawn_in(forged):
    swap_first_lines(next(iter(sorted(forged.glob("schedules/*.jsonl")))))
    reseal(forged)
    levels, told = failed(forged)
    assert levels == [2]
    assert "its lines are not in the order in which they are drawn" in told


def test_a_blank_line_among_the_schedules_is_not_byte_for_byte(forged):
    path = next(iter(sorted(forged.glob("schedules/*.jsonl"))))
    path.write_text(path.read_text() + "\n")
    reseal(forged)
    assert failed(forged)[0] == [2]


def test_a_run_cannot_end_before_it_began(forged):
    swap_first_lines(forged / "run.jsonl")
    reseal(forged)
    levels, told = failed(forged)
    assert levels == [2]
    assert "line 1 ends a run that no line before it began" in told


def test_a_journal_without_an_end_is_no_silent_yes(forged):
    (forged / "run.jsonl").write_text((forged / "run.jsonl").read_text().splitlines()[0] + "\n")
    reseal(forged)
    found = verify(forged)
    assert found.verified  # the run may have been killed after its last trial
    assert "run.jsonl tells of as many trials: cannot be told" in verdict(found)


def test_claims_that_freezing_would_have_refused(forged):
    """Whoever writes a lock by hand may claim success of a rehearsal, or an unheard-of metric."""
    path = forged / "prereg.yaml"
    prereg = yaml.safe_load(path.read_text())
    claim = {"id": "H1", "arm": "hfr", "against": "no_retry", "direction": "greater"}
    for metric, why in (("sr", "restates the stand-in"), ("vibes", "unknown metric 'vibes'")):
        path.write_text(yaml.safe_dump(prereg | {"hypotheses": [claim | {"metric": metric}]}))
        reseal(forged)
        levels, told = failed(forged, 1)
        assert levels == [1]
        assert why in told
        assert "KeyError" not in told


def test_degraded_steps_that_nobody_decided(forged):
    def degrade(events):
        events[-1]["body"]["result"]["outcome"]["degraded_steps"] = 3

    rechain(trace(forged, "no_retry"), degrade)
    report = forge(forged)
    assert not report.valid
    said = json.loads((forged / "report.json").read_text())["controls"]
    assert any("degraded_steps is 3, the trace gives 0" in row["detail"] for row in said)


def test_what_another_state_left_out_of_the_report_is_in_the_verdict(forged):
    """Else a forger who names another state could leave out voids and deviations unremarked."""
    environment, report = forged / "environment.json", forged / "report.json"
    environment.write_text(json.dumps(json.loads(environment.read_text()) | {"code": "f" * 64}))
    said = json.loads(report.read_text())
    del said["voids"], said["estimates"][0]["note"], said["estimates"][1]["note"]
    report.write_text(json.dumps(said))
    reseal(forged)
    found = verify(forged)
    assert found.verified
    assert "report.json follows from the traces: cannot be told" in verdict(found)
    assert "without estimates[].note, voids" in verdict(found)


def test_lines_that_lack_are_no_other_lines(forged):
    environment = forged / "environment.json"
    environment.write_text(json.dumps(json.loads(environment.read_text()) | {"code": "f" * 64}))
    replace(forged / "report.json", '"valid":true', '"valid":false')
    reseal(forged)
    assert failed(forged)[0] == [3]
