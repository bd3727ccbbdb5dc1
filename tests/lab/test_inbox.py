"""Escalations that wait: of the rounds that count; answers lie beside the trials, never in them."""

import hashlib

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.book import ScheduleBook
from hfr_bench.lab.inbox import INBOX, Inbox, answer, answers, find, inbox
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import Experiment
from hfr_bench.model.inbox import WORDS
from hfr_bench.model.terms import VoidCause
from hfr_bench.model.trace import Escalated
from hfr_bench.testing.experiments import planned, play, some_faults, write_all
from hfr_bench.testing.results import ended, started, write_trial

PLAN = planned(("no_retry", "always_escalate"), tasks=6, rates=(0.0, 0.6), faults=some_faults)
BOOK = ScheduleBook(made.dumps() for made in PLAN.schedules.values())
PLAIN = Redactor()


@pytest.fixture
def experiment(tmp_path) -> Experiment:
    write_all(tmp_path, PLAN)
    return Experiment(tmp_path, PLAN.prereg, PLAN.lock, PLAN.rows, BOOK)


@pytest.fixture
def box(experiment) -> Inbox:
    return inbox(experiment, PLAIN)


def digests(experiment) -> dict[str, str]:
    return {
        path.name + path.parent.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((experiment.path / "trials").rglob("*.jsonl"))
    }


def escalations():
    """(trial, packet) of every trial that escalates, in plan order."""
    for row in PLAN.rows:
        for at in play(row, PLAN.schedule(row.trial.schedule_id)):
            if isinstance(at.body, Escalated):
                yield row.trial, at.body.packet


def test_every_escalation_is_there_with_its_packet(box):
    wanted = list(escalations())
    assert [one.trial_id for one in box.waiting] == [trial.trial_id for trial, _ in wanted]
    for one, (trial, packet) in zip(box.waiting, wanted, strict=True):
        assert (one.task_id, one.rate, one.step) == (trial.task_id, trial.rate, packet.step)
        assert (one.status, one.unknown, one.reason) == (packet.status, packet.unknown, "toy")
    assert any(one.unknown for one in box.waiting)
    assert box.unanswered == box.waiting


def test_arms_are_not_named_unless_asked_for(experiment, box):
    assert {one.arm for one in box.waiting} == {""}
    assert '"arm":"always_escalate"' not in box.dumps()
    seen = inbox(experiment, PLAIN, unblind=True)
    assert {one.arm for one in seen.waiting} == {"always_escalate"}


def test_only_the_round_that_counts(experiment, box):
    trial = next(escalations())[0]
    group = [row for row in PLAN.rows if row.trial.pair_group == trial.pair_group]
    other = next(row.trial for row in group if row.trial.arm == "no_retry")
    write_trial(experiment.path, other, [started(other), ended(other, void=VoidCause.SANDBOX)])
    ids = [one.trial_id for one in inbox(experiment, PLAIN).waiting]
    assert ids == [one.trial_id for one in box.waiting if one.trial_id != trial.trial_id]
    for row in group:
        bodies = play(row, PLAN.schedule(row.trial.schedule_id))
        last = ended(row.trial, **_of(bodies[-1].body.result), round=2)
        write_trial(experiment.path, row.trial, [*bodies[:-1], last], 2)
    again = inbox(experiment, PLAIN)
    assert [one.trial_id for one in again.waiting] == [one.trial_id for one in box.waiting]
    assert {one.round for one in again.waiting if one.trial_id == trial.trial_id} == {2}


def _of(result):
    kept = ("outcome", "steps", "attempts", "cost_microusd", "latency_us", "human_us")
    return {"of" if name == "outcome" else name: getattr(result, name) for name in kept}


def test_packets_are_redacted(experiment):
    trial, packet = next(escalations())
    row = next(row for row in PLAN.rows if row.trial.trial_id == trial.trial_id)
    told = packet.model_copy(update={"evidence": "from a@b.org", "suggestion": "token=abcdef"})
    bodies = [
        at._replace(body=Escalated(packet=told)) if isinstance(at.body, Escalated) else at
        for at in play(row, PLAN.schedule(trial.schedule_id))
    ]
    write_trial(experiment.path, trial, bodies)
    one = inbox(experiment, PLAIN).waiting[0]
    assert (one.evidence, one.suggestion) == ("from [e-mail]", "[secret]")


def test_answers_are_appended_and_no_trial_is_touched(experiment, box):
    before, one = digests(experiment), box.waiting[0]
    answer(experiment.path, one, "reject", "ann", "ask a@b.org", PLAIN)
    answer(experiment.path, one, "settle", "bob", "", PLAIN)
    found = inbox(experiment, PLAIN)
    assert [(a.answer, a.who, a.note) for a in found.waiting[0].answers] == [
        ("reject", "ann", "ask [e-mail]"), ("settle", "bob", ""),
    ]  # fmt: skip
    assert len(found.unanswered) == len(box.waiting) - 1
    assert digests(experiment) == before
    assert len((experiment.path / INBOX).read_text().splitlines()) == 2


def test_an_answer_is_of_its_round(experiment, box):
    one = box.waiting[0]
    answer(experiment.path, one.model_copy(update={"round": 2}), "approve", "ann", "", PLAIN)
    assert inbox(experiment, PLAIN).unanswered == box.waiting


def test_a_half_written_answer_is_closed_and_named(experiment, box):
    (experiment.path / INBOX).write_text('{"v":1,"at":"2026')
    answer(experiment.path, box.waiting[0], "approve", "ann", "", PLAIN)
    found = inbox(experiment, PLAIN)
    assert found.bad_lines == ("inbox.jsonl:1: not an answer",)
    assert [a.who for a in found.waiting[0].answers] == ["ann"]


def test_a_word_that_nobody_may_say(experiment, box):
    with pytest.raises(ValueError, match="approve"):
        answer(experiment.path, box.waiting[0], "perhaps", "ann", "", PLAIN)
    assert WORDS == ("approve", "reject", "settle")
    assert answers(experiment.path) == ([], [])


def test_an_inbox_that_cannot_be_written(experiment, box):
    (experiment.path / INBOX).mkdir()
    with pytest.raises(InfrastructureError, match=r"inbox\.jsonl: the answer was not written"):
        answer(experiment.path, box.waiting[0], "approve", "ann", "", PLAIN)


def test_a_trial_is_found_by_the_beginning_of_its_id(box):
    one = box.waiting[0]
    assert find(box, one.trial_id) is one
    with pytest.raises(BadInputError, match=r"no escalation is named 'zzz'\. There are:\n  t"):
        find(box, "zzz")
    with pytest.raises(BadInputError, match=r"\d+ escalations begin with 't'"):
        find(box, "t")
    empty = box.model_copy(update={"waiting": ()})
    with pytest.raises(BadInputError, match="nothing was escalated here"):
        find(empty, "x")
