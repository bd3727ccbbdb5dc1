"""A trace read as a conversation loses no attempt, decision, effect or fault."""

import json
import zipfile

import pytest

from hfr_bench.lab.exports.atif import trajectory
from hfr_bench.lab.exports.inspect_log import write
from hfr_bench.lab.exports.outline import Message, Step, outline
from hfr_bench.lab.redact import Redactor
from hfr_bench.model.terms import Channel
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import At, answered, ended, events, ran, refused, sent, started

TRIAL = planned().rows[0].trial


def test_nothing_of_a_trace_is_lost(traces, outlines):
    faults = 0
    for trace, trial in zip(traces.values(), outlines, strict=True):
        kinds = [event.body.type for event in trace]
        calls = [call for step in trial.steps for call in step.calls]
        assert len(calls) == kinds.count("attempt_started")
        told = sum(len(step.decisions) for step in trial.steps) + len(trial.decisions)
        assert told == kinds.count("decided")
        assert sum(isinstance(one, Message) for one in trial.moments) == kinds.count("said")
        inside = sum(e.body.type == "effect" and e.attempt > 0 for e in trace)
        assert sum(len(call.effects) for call in calls) == inside
        met = {e.body.injection_id for e in trace if getattr(e.body, "injection_id", None)}
        assert {call.fault["injection_id"] for call in calls if call.fault} == met
        faults += len(met)
    assert faults > 5


def test_moments_stand_in_the_order_of_the_trace(outlines):
    for trial in outlines:
        times = [one.at_us for one in trial.moments]
        assert times == sorted(times)
        numbers = [one.number for one in trial.moments if isinstance(one, Step)]
        assert numbers == sorted(set(numbers))


def test_a_trace_that_was_cut_off_is_told_as_far_as_it_goes():
    trace = events(TRIAL.trial_id, [started(TRIAL), At(sent()), At(refused(503)), At(sent())])
    trial = outline(trace, Redactor(), 10**18)
    (step,) = trial.steps
    assert [call.error for call in step.calls] == ["503", "cut off"]
    assert (trial.result, trial.ending()) == (None, {})
    assert (step.channel, step.last.number) == (Channel.MODEL, 1)


def test_the_trial_ends_when_its_file_was_written():
    trace = events(TRIAL.trial_id, [started(TRIAL), ended(TRIAL)])
    trial = outline(trace, Redactor(), 1_800_000_000_000_000_000)
    assert trial.when(trial.end_us) == "2027-01-15T08:00:00.000000+00:00"
    assert trial.when(trial.end_us - 1500) == "2027-01-15T07:59:59.998500+00:00"


def test_words_pass_the_redactor():
    secret = "sk-" + "abcdefghijklmnopqrstuvwxyz0123456789"
    trace = events(
        TRIAL.trial_id, [started(TRIAL), At(sent(target=secret)), At(refused(exception=secret))]
    )
    (step,) = outline(trace, Redactor()).steps
    assert (step.target, step.last.error) == ("[key]", "[key]")


def test_no_word_of_a_tool_model_or_strategy_gets_past_the_redactor(tmp_path):
    secret = "AKIA" + "ABCDEFGHIJ012345"
    ran_ = ran("op").model_copy(update={"changed": (f"order {secret}",), "tool": secret})
    bodies = [
        At(sent(f"tool:{secret}", target=secret)),
        At(ran_),
        At(answered(returned_model=secret, finish_reason=secret)),
        At(sent(f"model:{secret}", target=secret), 2),
        At(answered(), 2),
    ]
    trace = events(TRIAL.trial_id, [started(TRIAL), *bodies, ended(TRIAL)])
    trial = outline(trace, Redactor(), 10**18)
    told = json.dumps(trajectory(trial))
    assert "order [token]" in told
    assert secret not in told
    write(tmp_path / "x.eval", "toy", [trial])
    with zipfile.ZipFile(tmp_path / "x.eval") as file:
        assert not [name for name in file.namelist() if secret.encode() in file.read(name)]


def test_what_is_no_trace_is_refused():
    with pytest.raises(ValueError, match="does not begin with trial_started"):
        outline((), Redactor())
