"""A forger who makes report, chains and seals anew: what makes no sense betrays it all the same."""

import json
import re
import shutil
from pathlib import Path

import pytest

from hfr_bench.lab.verification.files import Work
from hfr_bench.lab.verification.sense import prices
from hfr_bench.lab.verification.traces import Seen
from hfr_bench.lab.verification.verify import verify
from hfr_bench.model.bundle import Bundle
from hfr_bench.testing.bundled import failed, forge, ready, rechain, replace, reseal, trace


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_forger_who_changes_nothing_is_not_noticed(forged):
    forge(forged)
    assert failed(forged) == ([], "")


def test_what_one_arm_may_do_twice_the_others_may_too(forged):
    """A duplicate is none where the task is said to want more."""

    def want_more(events):
        events[0]["body"]["expected"]["book"] = 9
        events[-1]["body"]["result"]["outcome"]["duplicates"] = 0

    doubled = next(
        path
        for path in sorted(forged.glob("trials/*/r1/blind_resend.jsonl"))
        if re.search('"duplicates":[1-9]', path.read_text())
    )
    rechain(doubled, want_more)
    assert forge(forged).valid
    levels, said = failed(forged)
    assert levels == [1]
    assert "blind_resend.jsonl starts with another expected than" in said


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda events: [e.update(seq=e["seq"] + 1) for e in events[3:]], "do not count from 1"),
        (lambda events: events[3].update(t_us=10**12), "its time goes back"),
        (lambda events: events[3].update(trial_id="0" * 16), "lines of another trial"),
    ],
)
def test_lines_that_make_no_sense(forged, spoil, told):
    rechain(trace(forged), spoil)
    forge(forged)
    levels, said = failed(forged)
    assert levels[0] == 0
    assert told in said


def test_an_injection_whose_key_is_written_in_escapes(forged):
    """JSON readers see it, whoever looks for its letters does not."""
    path = next(
        path
        for path in sorted(forged.glob("trials/*/r1/hfr.jsonl"))
        if '"kind":null' in path.read_text()
    )

    def inject(events):
        hit = next(e["body"] for e in events if e["body"]["type"] == "upstream_hit")
        hit |= {"injection_id": "nobody's", "kind": "busy"}

    rechain(path, inject)
    lines = path.read_text().replace('"injection_id":"nobody', '"injection\\u005fid" : "nobody')
    path.write_text(lines)
    forge(forged)
    levels, said = failed(forged)
    assert 2 in levels
    assert "nobody's is not in its schedule" in said


def to_round(path, number):
    def move(events):
        events[0]["body"]["round"] = events[-1]["body"]["result"]["round"] = number

    rechain(path, move)


def test_a_void_round_that_was_taken_out(forged):
    """The first round of a group, whose void is to be forgotten, is dropped; the second counts."""
    first = trace(forged).parent
    for path in first.iterdir():
        to_round(path, 2)
    first.rename(first.with_name("r2"))
    assert forge(forged).complete
    levels, said = failed(forged)
    assert levels == [2]
    assert "round 1 is not there, a later one is" in said


def test_a_second_try_that_nothing_made_necessary(forged):
    first = trace(forged).parent
    second = Path(shutil.copytree(first, first.with_name("r2")))
    for path in second.iterdir():
        to_round(path, 2)
    forge(forged)
    levels, said = failed(forged)
    assert levels == [2]
    assert "round 2 was run, and none of 1 was void" in said


def test_a_journal_that_tells_of_fewer_trials_or_of_voids_that_are_not_there(forged):
    count = len(list(forged.glob("trials/*/r1/*.jsonl")))
    log = (forged / "run.jsonl").read_text()
    for told, instead in ((f'"ran":{count}', '"ran":3'), ('"ran"', '"voids":2,"ran"')):
        start, end = log.splitlines()
        end = end.replace('"voids":0,', "").replace(',"voids":0', "").replace(told, instead)
        (forged / "run.jsonl").write_text(f"{start}\n{end}\n")
        reseal(forged)
        levels, said = failed(forged)
        assert levels == [2]
        assert "run.jsonl tells of as many trials" in said


def test_a_run_that_was_killed_tells_nothing_of_its_trials(forged):
    log = (forged / "run.jsonl").read_text()
    start, end = log.splitlines()
    end = end.replace('"ran":80', '"ran":3')
    (forged / "run.jsonl").write_text(f"{start}\n{start}\n{end}\n")
    reseal(forged)
    assert failed(forged) == ([], "")


def test_the_first_run_is_the_earliest_wherever_it_stands(forged):
    log = (forged / "run.jsonl").read_text()
    later = log.splitlines()[0].replace("2026-01-01", "2026-08-01")
    (forged / "run.jsonl").write_text(f"{later}\n{log}")
    edit(forged / "prereg.lock.json", frozen_at="2026-07-01T00:00:00+00:00")
    forge(forged)
    levels, said = failed(forged)
    assert levels == [1]
    assert "first run 2026-01-01T00:00:05" in said


def test_a_date_is_not_better_than_what_shows_it(forged):
    edit(forged / "prereg.lock.json", timestamp_evidence="stamped by an authority")
    forge(forged)
    levels, said = failed(forged)
    assert levels == [1]
    assert "calls its date 'stamped by an authority', and no file shows that" in said


@pytest.mark.parametrize(
    ("name", "text", "levels", "told"),
    [
        ("looks.jsonl", "{}\n", [1], "no looks are registered"),
        ("parents/0123456789ab.yaml", "x: 1\n", [1], "it amends no such registration"),
        ("cassettes/g/r1/hfr.jsonl", "{}\n", [1], "nobody's responses"),
        ("kinds/new.yaml", "kind: 1\n", [2], "kinds/new.yaml"),
        ("content/suites/s/tasks.yaml", "x: 1\n", [0], "no place in a bundle"),
    ],
)
def test_a_file_that_belongs_to_nothing(forged, name, text, levels, told):
    (forged / name).parent.mkdir(parents=True, exist_ok=True)
    (forged / name).write_text(text)
    reseal(forged)
    found, said = failed(forged)
    assert found == levels
    assert told in said


def test_faults_of_its_own_are_held_to_what_was_frozen(forged):
    """They lie in the bundle for whoever runs it again: other ones must not."""
    kinds = json.loads((forged / "content.json").read_text())["kinds"]
    own = forged / "kinds" / "busy.yaml"
    own.parent.mkdir()
    own.write_text(json.dumps(kinds["busy"]))
    reseal(forged)
    assert failed(forged) == ([], "")
    own.write_text(json.dumps(kinds["busy"] | {"silent": not kinds["busy"]["silent"]}))
    reseal(forged)
    assert failed(forged) == (
        [2], "kinds, matrix and tasks are those frozen: kinds/busy.yaml is not what was frozen",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["environment.json", "README.md", "report.json"])
def test_what_every_bundle_has_cannot_be_left_out(forged, name):
    (forged / name).unlink()
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 0
    assert f"{name} is missing" in said


def test_what_was_archived_is_what_lies_there(forged):
    replace(forged / "bundle.json", '"archived":[]', '"archived":["trials/g/r1/hfr.jsonl.part"]')
    reseal(forged)
    assert failed(forged, 0)[0] == [0]


def test_a_later_round_after_a_void_is_right(tmp_path):
    toy = ready(tmp_path / "e", tasks=2)
    first = trace(toy.experiment.path).parent
    second = Path(shutil.copytree(first, first.with_name("r2")))
    for path in second.iterdir():
        to_round(path, 2)

    def void(events):
        events[-1]["body"]["result"] |= {"outcome": None, "void": "sandbox", "void_reason": "gone"}

    rechain(first / "hfr.jsonl", void)
    start, end = (toy.experiment.path / "run.jsonl").read_text().splitlines()
    said = json.loads(end)
    said |= {"ran": said["ran"] + 4, "voids": 1}
    (toy.experiment.path / "run.jsonl").write_text(f"{start}\n{json.dumps(said)}\n")
    bundle = toy.bundle(tmp_path / "b.zip")
    found = verify(bundle)
    assert found.verified, [check for check in found.checks if check.ok is False]


@pytest.mark.parametrize("point", ["tool:book", "model:agent"])
def test_an_arm_that_was_made_cheaper(forged, point):
    """Sums and report follow: only the price itself betrays it."""

    def halve(events):
        saved = 0
        for event in events:
            body = event["body"]
            if body["type"] == "attempt_started":
                asked = body["point"]
            elif body["type"] == "attempt_ended" and asked == point:
                saved += body["cost_microusd"] - 1
                body["cost_microusd"] = 1
        events[-1]["body"]["result"]["cost_microusd"] -= saved

    for path in sorted(forged.glob("trials/*/r1/hfr.jsonl")):
        rechain(path, halve)
    assert forge(forged).valid
    levels, said = failed(forged)
    assert levels == [3]
    assert "each attempt costs its price" in said


def test_calls_are_counted_by_what_was_called(toy, toy_bundle, tmp_path):
    texts = [path.read_text() for path in toy_bundle.glob("trials/*/*/*.jsonl")]
    sent = [one for text in texts for one in text.split("\n") if "attempt_started" in one]
    tools = sum('"channel":"tool"' in line for line in sent)
    told = next(c for c in verify(toy_bundle).checks if c.check == "each attempt costs its price")
    flat, calls = "900 microdollars for each of", len(sent) - tools
    assert told.detail == f"{flat} {tools} tool calls; {calls} calls of 1 models"
    says = Bundle.loads((toy_bundle / "bundle.json").read_bytes())
    seen = Seen("trials/g/r1/a.jsonl", costs=((("tool", "", 900), 3),))  # an oracle asks no model
    alone = prices(Work(says, tmp_path, seen=(seen,)), toy.experiment.prereg)
    assert alone.detail == f"{flat} 3 tool calls; no model was called"
