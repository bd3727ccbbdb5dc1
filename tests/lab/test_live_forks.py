"""Live forks from freezing to replay: a stand-in's answers are played up to the first fault.

The stand-in provider is no model: what it says here is nobody's number. It says each thing with ids
of its own, so an answer that comes twice was played.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.calm import is_calm
from hfr_bench.lab.plan import calm_group
from hfr_bench.lab.register import load
from hfr_bench.lab.replay import replay
from hfr_bench.lab.wire import Bench, Place
from hfr_bench.model.cassette import Taped
from hfr_bench.testing.bundled import rechain

Freeze = Callable[[Path, str], Path]

PREREG = """\
v: 1
name: live-forks
title: Labelled live, answered by a stand-in of the tests
origin: live
clock: wall
suites: [{suite: shopdesk, pool: base, config: {tasks: 1}}]
sandbox: process
model: {llm: standin, agent: standin-1, backup: null, config: {url: "URL"}}
seeds: [8]
faults: {matrix: stress, design: fork, fork: {points: 3, continuations: 1, rate: 0.1}}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: blind, strategy: blind_resend}
controls: {injector_removed: true, a_a: true}
limits: {model_timeout_s: 4, tool_timeout_s: 4, max_steps: 20}
human: {delay_s: 0}
tool_price: {cost_usd: 0}
void_rounds: 1
analysis: {baseline: no_retry, resamples: 200}
"""


BOUND = 310
"""Micro-dollars, of which an answer costs 7."""


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory, freeze_live: Freeze) -> Path:
    return freeze_live(tmp_path_factory.mktemp("frozen"), PREREG)


@pytest.fixture(scope="module")
def live(frozen: Path, tmp_path_factory: pytest.TempPathFactory, provider: Any) -> Path:
    """Run whole; never changed by a test."""
    made = Path(shutil.copytree(frozen, tmp_path_factory.mktemp("live") / "live"))
    before = len(provider.asked)
    # Less than what all trials are charged together, and more than what was paid.
    assert run(["run", str(made), "--max-cost-usd", str(BOUND / 1e6)]) == 0
    provider.asked_by_live = len(provider.asked) - before
    return made


@pytest.fixture
def fresh(frozen: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(frozen, tmp_path / "fresh"))


@pytest.fixture
def ran(live: Path, tmp_path: Path) -> Path:
    """A copy of the whole run, free to be spoiled."""
    return Path(shutil.copytree(live, tmp_path / "ran"))


def bodies(trace: Path) -> list[Any]:
    return [json.loads(line)["body"] for line in trace.read_bytes().splitlines()]


def hits(trace: Path) -> list[Any]:
    return [body for body in bodies(trace) if body["type"] == "upstream_hit"]


def calm_trace(folder: Path) -> Path:
    experiment = load(folder)
    (row,) = (row for row in experiment.plan if is_calm(experiment.prereg, row))
    return folder / "trials" / row.trial.pair_group / "r1" / "no_retry.jsonl"


def cassette(trace: Path) -> Path:
    root = trace.parents[3]
    return root / "cassettes" / trace.relative_to(root / "trials")


def others(folder: Path) -> Iterator[Path]:
    """The traces of all trials that follow the calm one."""
    removed = {row.trial.pair_group for row in load(folder).plan if not row.trial.injected}
    for trace in sorted(folder.glob("trials/*/r*/*.jsonl")):
        if trace != calm_trace(folder) and trace.parts[-3] not in removed:
            yield trace


def test_all_others_are_played_what_the_calm_trial_was_answered(live: Path) -> None:
    calm = calm_trace(live)
    said = {(hit["point"], hit["occurrence"]): hit for hit in hits(calm)}
    digest = hashlib.sha256(cassette(calm).read_bytes()).hexdigest()
    assert bodies(calm)[-1]["cassette"] == digest
    assert not any(hit.get("prefix") for hit in hits(calm))
    played = 0
    for trace in others(live):
        assert bodies(trace)[0]["prefix_digest"] == digest
        for hit in hits(trace):
            if hit.get("prefix") == "played":
                was = said[hit["point"], hit["occurrence"]]
                assert hit["request_digest"] == was["request_digest"]
                assert hit["injection_id"] or hit["response_digest"] == was["response_digest"]
                played += 1
    assert played > len(list(others(live)))


def test_from_the_first_fault_on_the_live_model_answers(live: Path) -> None:
    calm = {line.response_digest for line in lines(cassette(calm_trace(live)))}
    after = 0
    for trace in others(live):
        met = False
        for body in bodies(trace):
            if body["type"] == "upstream_hit":
                assert not (met and body.get("prefix"))
                if met and body["upstream_status"]:
                    after += 1
                    assert body["response_digest"] not in calm
                else:
                    assert body["injection_id"] or body["prefix"] == "played"
            met = met or bool(body.get("injection_id"))
    assert after


def lines(path: Path) -> list[Taped]:
    return [Taped.loads(line) for line in path.read_bytes().splitlines()]


def test_its_own_cassette_holds_the_prefix_as_well(live: Path) -> None:
    calm = {line.response_digest for line in lines(cassette(calm_trace(live)))}
    for trace in others(live):
        answered = [line for line in lines(cassette(trace)) if line.response]
        marks = [line.prefix for line in answered]
        assert marks[: marks.count("played")] == ["played"] * marks.count("played")
        for mark, line in zip(marks, answered, strict=True):
            assert (mark == "played") is (line.response_digest in calm)


def reported(folder: Path, capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:
    capsys.readouterr()
    assert run(["report", str(folder), "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


def control(report: Any, words: str) -> tuple[bool | None, str]:
    (row,) = (row for row in report["controls"] if words in row["name"])
    return row["passed"], row["detail"]


def test_report_and_status_tell_what_was_played(
    live: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = reported(live, capsys)
    assert report["valid"]
    assert control(report, "same state") == (True, "3 of 3 forks")
    assert control(report, "calm trial recorded") == (True, "1 of 1 tasks and seeds")
    assert control(report, "parts from its recorded prefix")[0]
    rows = {row["arm"]: row for row in report["prefixes"]}
    assert {arm: (row["trials"], row["parted"]) for arm, row in rows.items()} == {
        "no_retry": (6, 0),
        "blind": (4, 0),
    }
    played = sum(hit.get("prefix") == "played" for trace in others(live) for hit in hits(trace))
    assert sum(row["played"] for row in rows.values()) == played
    assert sum(row["cost_microusd"] for row in rows.values()) == 7 * played
    assert run(["status", str(live)]) == 0
    told = capsys.readouterr().out
    assert "1 of 1 calm trials recorded; 10 trials were played" in told
    assert run(["report", str(live), "--full"]) == 0
    assert "Recorded prefixes" in capsys.readouterr().out


def test_the_model_is_asked_for_nothing_that_is_recorded(live: Path, provider: Any) -> None:
    asked = [
        hit
        for trace in (*others(live), calm_trace(live))
        for hit in hits(trace)
        if hit["forwarded"] and hit.get("prefix") != "played"
    ]
    removed = [trace for trace in live.glob("trials/*/r1/*.jsonl") if not hits(trace)]
    alone = sum(len(lines(cassette(trace))) for trace in removed)
    assert len(removed) == 1
    assert provider.asked_by_live == len(asked) + alone


def test_the_bound_on_money_counts_what_was_paid(live: Path) -> None:
    every = [*live.glob("trials/*/r1/*.jsonl")]
    charged = sum(bodies(trace)[-1]["result"]["cost_microusd"] for trace in every)
    played = sum(hit.get("prefix") == "played" for trace in every for hit in hits(trace))
    assert charged - 7 * played < BOUND < charged


@pytest.mark.slow
def test_a_fork_is_bundled_verified_and_run_again(live: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.zip"
    assert run(["bundle", str(live), "-o", str(out), "--with-places", "--with-cassettes"]) == 0
    assert run(["verify", str(out), "--level", "4", "--sample", "1", "--sandbox", "process"]) == 0


def test_a_fork_is_replayed_with_every_mark(live: Path, tmp_path: Path) -> None:
    assert run(["replay", str(live), "-o", str(tmp_path / "out")]) == 0
    again = sorted((tmp_path / "out").glob("trials/*/r1/*.jsonl"))
    marks = {trace.parts[-3:]: [hit.get("prefix") for hit in hits(trace)] for trace in again}
    assert marks == {
        trace.parts[-3:]: [hit.get("prefix") for hit in hits(trace)]
        for trace in live.glob("trials/*/r1/*.jsonl")
    }


def lose_all_but_the_calm_trial(folder: Path) -> None:
    for trace in [*others(folder)]:
        trace.unlink()
        cassette(trace).unlink()


def misled(folder: Path) -> None:
    """Run all but the calm trial again, on a recording that lacks its second request."""
    calm = calm_trace(folder)
    lose_all_but_the_calm_trial(folder)
    first, second, *rest = lines(cassette(calm))
    changed = second.model_copy(update={"request_digest": "0" * 64})
    made = "".join(f"{line.dumps()}\n" for line in (first, changed, *rest)).encode()
    cassette(calm).write_bytes(made)
    said = hashlib.sha256(made).hexdigest()
    rechain(calm, lambda events: events[-1]["body"].update(cassette=said))
    assert run(["run", str(folder)]) == 0


@pytest.mark.slow
def test_trials_that_parted_are_replayed_with_what_the_live_model_said(
    ran: Path, tmp_path: Path
) -> None:
    misled(ran)
    found = replay(load(ran), tmp_path / "out")
    assert found.parted  # the calm trial's own recording was altered
    assert all("seed 8, 0, " in one for one in found.parted)
    again = sorted((tmp_path / "out").glob("trials/*/r1/*.jsonl"))
    marks = [[hit.get("prefix", "") for hit in hits(trace)] for trace in again]
    assert sum("missed" in one for one in marks) == sum(
        "missed" in [hit.get("prefix") for hit in hits(trace)] for trace in others(ran)
    )


def test_a_miss_is_said_counted_and_answered_live(
    ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    misled(ran)
    parted = [
        trace for trace in others(ran) if any(h.get("prefix") == "missed" for h in hits(trace))
    ]
    assert parted
    for trace in parted:
        marks = [hit.get("prefix", "") for hit in hits(trace)]
        assert marks[:2] == ["played", "missed"]
        assert not any(marks[2:])
    report = reported(ran, capsys)
    passed, detail = control(report, "parts from its recorded prefix")
    assert (passed, detail.startswith(f"{len(parted)} of 10 trials parted")) == (False, True)
    assert sum(row["parted"] for row in report["prefixes"]) == len(parted)
    assert report["valid"]
    told = [row["came"] + row.get("parted", 0) for row in report["forks"]]
    assert told == [row["trials"] for row in report["forks"]]
    assert run(["show", str(ran), bodies_id(parted[0])]) == 0
    assert "the calm trial did not ask this here" in " ".join(capsys.readouterr().out.split())


def bodies_id(trace: Path) -> str:
    return str(json.loads(trace.read_bytes().splitlines()[0])["trial_id"])


def test_a_void_calm_trial_is_run_again_and_nothing_else_of_its_round(
    fresh: Path, provider: Any
) -> None:
    provider.down = 1
    assert run(["run", str(fresh)]) == 0
    calm = calm_trace(fresh)
    assert bodies(calm)[-1]["result"]["void"] == "provider"
    assert [path.name for path in calm.parent.glob("*.jsonl")] == [calm.name]
    second = calm.parents[1] / "r2" / calm.name
    digest = bodies(second)[-1]["cassette"]
    followers = [trace for trace in others(fresh) if trace != second]
    assert {bodies(trace)[0]["prefix_digest"] for trace in followers} == {digest}


def test_without_a_calm_trial_all_of_its_task_are_void(
    fresh: Path, provider: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.down = 2
    assert run(["run", str(fresh)]) == 1
    assert provider.down == 0
    capsys.readouterr()
    assert run(["status", str(fresh), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["voids"]["provider"] == 2
    assert status["graded"] == 1  # the control without injector, which plays nothing
    ends = [bodies(trace)[-1]["result"] for trace in others(fresh)]
    assert {end["void_reason"].split(": ")[-1] for end in ends if end["void"] == "cassette"} == {
        "the calm trial was void in every round, so there is no prefix to play"
    }


def test_a_round_that_is_run_again_is_played_the_first_recording(ran: Path, provider: Any) -> None:
    """Another arm's void opens a second round for the calm trial, too."""
    calm = calm_trace(ran)
    other = calm.with_name("blind.jsonl")

    def void(events: list[dict[str, Any]]) -> None:
        events[-1]["body"]["result"].update(outcome=None, void="sandbox")

    rechain(other, void)
    asked = len(provider.asked)
    assert run(["run", str(ran)]) == 0
    again = calm.parents[1] / "r2" / calm.name
    assert bodies(again)[0]["prefix_digest"] == bodies(calm)[-1]["cassette"]
    assert {hit.get("prefix") for hit in hits(again)} == {"played"}
    assert len(provider.asked) == asked


@pytest.mark.slow
def test_killed_in_the_middle_it_keeps_the_calm_trial(fresh: Path, provider: Any) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(provider.paths)}
    argv = [sys.executable, "-m", "hfr_bench", "run", str(fresh)]
    child = subprocess.Popen(argv, env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not [*others(fresh)]:
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.002)
    child.kill()
    child.wait()
    calm = calm_trace(fresh)
    was = calm.read_bytes(), cassette(calm).read_bytes()
    there = {trace: trace.read_bytes() for trace in others(fresh)}
    assert run(["run", str(fresh)]) == 0
    assert (calm.read_bytes(), cassette(calm).read_bytes()) == was
    assert all(trace.read_bytes() == data for trace, data in there.items())
    digests = {bodies(trace)[0]["prefix_digest"] for trace in others(fresh)}
    assert digests == {hashlib.sha256(was[1]).hexdigest()}


def test_a_lost_or_altered_recording_stops_the_run(
    ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cassette(calm_trace(ran))
    path.write_bytes(path.read_bytes() + b"\n")
    assert run(["run", str(ran)]) == 2
    assert "is not what its calm trial recorded" in capsys.readouterr().err
    path.unlink()
    assert run(["run", str(ran)]) == 2
    assert "is missing" in capsys.readouterr().err


def test_what_cannot_be_forked_live_is_refused(
    fresh: Path, tmp_path: Path, provider: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", str(fresh), "--no-record"]) == 2
    assert "--no-record" in capsys.readouterr().err
    text = PREREG.replace("URL", provider.url)
    for more, words in (
        (("seeds:", "cohorts: {size: 2}\nseeds:"), "cohorts: not with a live fork"),
    ):
        folder = tmp_path / words[:5]
        folder.mkdir()
        (folder / "prereg.yaml").write_text(text.replace(*more))
        assert run(["freeze", str(folder)]) == 2
        assert words in " ".join(capsys.readouterr().err.split())


def test_plan_and_trial_agree_about_who_is_calm(frozen: Path) -> None:
    experiment = load(frozen)
    with Bench(experiment.prereg, experiment.book, Place(frozen)) as bench:
        (calm,) = (row.trial for row in experiment.plan if is_calm(experiment.prereg, row))
        for row in experiment.plan:
            task = bench.task(row.trial.suite, row.trial.task_id)
            assert calm_group(experiment.prereg, task, row.trial) == calm.pair_group
