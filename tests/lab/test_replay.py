"""A live-labelled run against a stand-in is recorded, then replayed without it, trial by trial.

The stand-in provider is no model: what it says here is nobody's number.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.cli.main import run
from hfr_bench.errors import BadInputError
from hfr_bench.lab.register import load
from hfr_bench.lab.replay import check_recorded, replay, untimed
from hfr_bench.lab.verification.again import Sample, level_4
from hfr_bench.lab.verification.files import lay_out
from hfr_bench.lab.verification.read import opened
from hfr_bench.lab.wire import Place
from hfr_bench.model.cassette import Taped
from hfr_bench.model.record import digest
from hfr_bench.testing.bundled import rechain

Freeze = Callable[[Path, str], Path]

PREREG = """\
v: 1
name: stand-in
title: Labelled live, answered by a stand-in of the tests
origin: live
clock: wall
suites: [{suite: shopdesk, pool: base, config: {tasks: 2}}]
sandbox: process
model: {llm: standin, agent: standin-1, backup: null, config: {url: "URL"}}
seeds: [1]
faults: {matrix: stress, rates: [0, 0.2]}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: hfr, strategy: hfr, equipment: {ledger: true, query: true}}
controls: {injector_removed: true, a_a: false}
limits: {model_timeout_s: 2, tool_timeout_s: 2, max_steps: 20}
human: {delay_s: 0}
void_rounds: 1
analysis: {baseline: no_retry, resamples: 200}
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, provider: Any, freeze_live: Freeze) -> Path:
    """The experiment, run and recorded; then its provider goes away."""
    made = freeze_live(tmp_path_factory.mktemp("live"), PREREG)
    assert run(["run", str(made), "-n", "2"]) == 0
    provider.close()
    return made


@pytest.fixture(scope="module")
def played(live: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("played") / "out"
    assert run(["replay", str(live), "-o", str(out), "-n", "2"]) == 0
    return out


@pytest.fixture
def spoiled(live: Path, tmp_path: Path) -> Path:
    """A copy of the live run, free to be spoiled."""
    return Path(shutil.copytree(live, tmp_path / "live"))


def traces(folder: Path) -> dict[str, list[bytes]]:
    found = sorted(folder.glob("trials/*/r1/*.jsonl"))
    return {path.relative_to(folder).as_posix(): path.read_bytes().splitlines() for path in found}


def way(lines: list[bytes]) -> str:
    """The digest of a trial without what its clock measured."""
    return digest([untimed(line) for line in lines])


def test_without_the_provider_every_trial_goes_the_recorded_way(live: Path, played: Path) -> None:
    was, now = traces(live), traces(played)
    assert len(was) == load(live).lock.trials
    assert {name: way(lines) for name, lines in was.items()} == {
        name: way(lines) for name, lines in now.items()
    }


def test_the_answers_differ_from_call_to_call_so_that_only_a_recording_repeats_them(
    live: Path, provider: Any
) -> None:
    said = b"".join(path.read_bytes() for path in live.glob("cassettes/*/*/*.jsonl"))
    ids = re.findall(rb"call_\w+~\d+", said)
    assert len(ids) == len(set(ids)) > 10
    assert not [headers for headers, _ in provider.asked if "x-hfr-tape" in headers]


def test_a_cassette_is_tied_to_its_trace(live: Path) -> None:
    landed = 0
    for path in live.glob("cassettes/*/*/*.jsonl"):
        trace = live / "trials" / path.relative_to(live / "cassettes")
        bodies = [json.loads(line)["body"] for line in trace.read_bytes().splitlines()]
        assert bodies[-1]["cassette"] == hashlib.sha256(path.read_bytes()).hexdigest()
        hits = {
            (body["point"], body["occurrence"], body["attempt"]): body
            for body in bodies
            if body["type"] == "upstream_hit"
        }
        for line in path.read_bytes().splitlines():
            taped = Taped.loads(line)
            hit = hits.get((taped.point, taped.occurrence, taped.attempt))
            if hit is None:
                assert '"injected":false' in trace.read_text()  # no gateway, no hits
                continue
            assert taped.request_digest == hit["request_digest"]
            assert (taped.response is not None) is (hit["upstream_status"] is not None)
            known = hit["upstream_digest"] or hit["response_digest"]
            if taped.response is not None and known:
                assert taped.response_digest == known
                landed += 1
    assert landed > 10


def test_a_replay_says_that_it_is_one(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert all(b'"replayed":true' in lines[0] for lines in traces(played).values())
    assert not (played / "cassettes").exists()
    run(["report", str(played)])
    said = " ".join(capsys.readouterr().out.split())
    assert "recorded responses of an earlier live run played the model" in said


def test_replays_and_live_trials_never_share_a_directory(
    live: Path, played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(played, tmp_path / "copy")
    shutil.rmtree(next(copy.glob("trials/*")))
    assert run(["run", str(copy)]) == 2
    assert "holds replays" in capsys.readouterr().err
    assert run(["replay", str(live), "-o", str(played)]) == 2
    assert "is there already" in capsys.readouterr().err


def edit(folder: Path, change: Any) -> Path:
    """Change one cassette's lines, and its trace's word for it; returns its path."""
    path = next(
        found
        for found in sorted(folder.glob("cassettes/*/r1/hfr.jsonl"))
        if len(found.read_bytes().splitlines()) > 2
    )
    path.write_bytes(b"".join(line + b"\n" for line in change(path.read_bytes().splitlines())))
    trace = folder / "trials" / path.relative_to(folder / "cassettes")
    said = hashlib.sha256(path.read_bytes()).hexdigest()
    rechain(trace, lambda events: events[-1]["body"].update(cassette=said))
    return path


def another_request(lines: list[bytes]) -> list[bytes]:
    second = json.loads(lines[1])
    return [lines[0], json.dumps(second | {"request_digest": "0" * 64}).encode(), *lines[2:]]


def test_a_miss_is_said_and_counted_and_nothing_is_made_up(
    spoiled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cassette = edit(spoiled, another_request)
    found = replay(load(spoiled), tmp_path / "out")
    assert found.misses >= 1
    trial = tmp_path / "out" / "trials" / cassette.relative_to(spoiled / "cassettes")
    end = json.loads(trial.read_bytes().splitlines()[-1])["body"]["result"]
    assert end["void"] == "cassette"
    assert "another request" in end["void_reason"]
    assert any("not graded" in line for line in found.parted)
    capsys.readouterr()
    assert run(["status", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["voids"]["cassette"] >= 1
    run(["report", str(tmp_path / "out"), "--json"])
    rows = json.loads(capsys.readouterr().out)["voids"]
    assert sum(row["causes"].get("cassette", 0) for row in rows) == found.misses


def test_a_cassette_that_its_trace_does_not_know_is_not_played(spoiled: Path) -> None:
    path = next(spoiled.glob("cassettes/*/r1/hfr.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"call_", b"cell_", 1))
    with pytest.raises(BadInputError, match="is not what its trial"):
        check_recorded(load(spoiled))


def test_what_recorded_nothing_is_told(
    spoiled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(spoiled / "cassettes")
    assert run(["replay", str(spoiled), "-o", str(tmp_path / "out")]) == 2
    assert "--no-record" in capsys.readouterr().err


def bundled(live: Path, out: Path, *flags: str) -> Path:
    made = ["bundle", str(live), "-o", str(out), "--with-places", *flags]
    assert run(made) == 0
    return out


def checked(bundle: Path, work: Path) -> list[bool | None]:
    with opened(bundle) as files:
        sample = Sample(2, 1, Place(sandbox="process"))
        return [check.ok for check in level_4(lay_out(files, work), sample)]


def test_a_live_run_is_redacted_with_every_number_as_it_was(
    spoiled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "ghp" + "_" + "a1B2" * 9  # put together here, so that nobody takes it for a real one

    def tell(events: list[dict[str, Any]]) -> None:
        told = [event["body"] for event in events if event["body"]["type"] == "decided"]
        told[-1]["reason"] = f"the provider said {key}"

    rechain(next(iter(sorted(spoiled.glob("trials/*/r1/hfr.jsonl")))), tell)
    assert run(["bundle", str(spoiled), "-o", str(tmp_path / "plain"), "--with-places"]) == 1
    assert "a GitHub token" in capsys.readouterr().err
    out = bundled(spoiled, tmp_path / "redacted", "--redact")
    assert not any(key.encode() in path.read_bytes() for path in out.rglob("*.*"))
    assert not (out / "cassettes").exists()
    assert run(["verify", str(out)]) == 0
    assert json.loads((out / "report.json").read_bytes())["origin"] == "live"


def test_level_4_runs_a_live_bundle_again_from_its_cassettes(live: Path, tmp_path: Path) -> None:
    out = bundled(live, tmp_path / "bundle", "--with-cassettes")
    assert checked(out, tmp_path / "work") == [True, True, True]
    path = next(found for found in out.glob("cassettes/*/r1/hfr.jsonl"))
    path.write_bytes(path.read_bytes().replace(b'"latency_us":', b'"latency_us":1', 1))
    assert checked(out, tmp_path / "spoiled")[0] is False


@pytest.mark.slow
def test_a_bundle_has_the_models_texts_only_if_asked(live: Path, tmp_path: Path) -> None:
    bare = bundled(live, tmp_path / "bare")
    assert not (bare / "cassettes").exists()
    assert checked(bare, tmp_path / "work") == [None, None]
    for out in (bare, bundled(live, tmp_path / "full", "--with-cassettes")):
        assert run(["verify", str(out)]) == 0
