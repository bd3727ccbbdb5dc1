"""A redacted bundle: nothing that may not leave, every number as before, each change told."""

import json
import os
import shutil
from pathlib import Path

import pytest

from hfr_bench.errors import InvalidExperimentError
from hfr_bench.lab import canary
from hfr_bench.lab.bundle import this_machine
from hfr_bench.lab.redacting.experiment import bundle_redacted
from hfr_bench.lab.runlog import RUN_LOG
from hfr_bench.lab.scan import Scanner
from hfr_bench.lab.verification.redacted import compared
from hfr_bench.lab.verification.verify import verify
from hfr_bench.model.redaction import Redacted, Redaction
from hfr_bench.testing.bundled import Ready, failed, ready, rechain, replace, reseal, trace

KEY = b"k" * 32
SECRET = "hunter2-hunter2"
ENVIRON = {"MY_API_KEY": SECRET}


def say(text):
    """Have the last decision of a trace give a reason."""

    def edit(events):
        next(e for e in reversed(events) if e["body"]["type"] == "decided")["body"]["reason"] = text

    return edit


def redact(toy: Ready, out: Path, **fields) -> Path:
    options = {"key": KEY, "scanner": Scanner(ENVIRON), "environ": ENVIRON} | fields
    bundle_redacted(toy.experiment, toy.content, out, **options)
    return out


@pytest.fixture(scope="module")
def talkative(tmp_path_factory) -> Ready:
    """An experiment of which one trace says too much."""
    toy = ready(tmp_path_factory.mktemp("talk") / "e", tasks=3)
    rechain(trace(toy.experiment.path), say(f"called with {SECRET}"))
    return toy


@pytest.fixture(scope="module")
def pair(talkative, tmp_path_factory) -> tuple[Path, Path]:
    """Its redacted bundle and its raw one."""
    top = tmp_path_factory.mktemp("pair")
    return redact(talkative, top / "redacted"), talkative.bundle(top / "raw")


@pytest.fixture
def forged(pair, tmp_path) -> Path:
    return Path(shutil.copytree(pair[0], tmp_path / "b"))


def test_what_may_not_leave_is_out_and_told(pair):
    redacted, _ = pair
    everything = b"".join(path.read_bytes() for path in redacted.rglob("*") if path.is_file())
    assert SECRET.encode() not in everything
    lines = (redacted / "redactions.jsonl").read_bytes().splitlines()
    (change,) = [one for one in map(Redaction.loads, lines) if "exact" in one.rule]
    assert change.pointer == "/body/reason"
    says = Redacted.loads((redacted / "redaction.json").read_bytes())
    assert sum(says.counts.values()) == len(lines)
    assert says.texts == {"s": "digest"}  # a suite that nobody listed


def test_levels_0_to_3_hold_and_so_do_the_numbers(pair):
    found = verify(pair[0])
    assert found.verified, [check for check in found.checks if check.ok is False]
    assert {check.level for check in found.checks} == {0, 1, 2, 3}
    one, other = (json.loads((top / "report.json").read_text()) for top in pair)
    assert one["estimates"] == other["estimates"]
    assert one["contrasts"] == other["contrasts"]
    assert one["traces_digest"] != other["traces_digest"]


def test_who_holds_the_raw_one_can_match_line_by_line(pair):
    redacted, raw = pair
    for key, last in ((KEY, True), (None, None), (b"x" * 32, False)):
        found = compared(verify(redacted, 0), redacted, raw, key)
        assert [check.ok for check in found.checks[-3:]] == [True, True, last]
        assert found.verified is (last is not False)


def test_another_raw_bundle_is_no_match(pair, tmp_path):
    redacted, raw = pair
    other = Path(shutil.copytree(raw, tmp_path / "raw"))
    rechain(trace(other), say("something else"))
    found = compared(verify(redacted, 0), redacted, other, KEY)
    told = "; ".join(check.detail for check in found.checks if check.ok is False)
    assert "ended otherwise" in told
    assert trace(other).name in told


def test_a_change_that_is_not_listed_is_seen_beside_the_raw_one(forged, pair):
    def cheaper(events):
        events[-1]["body"]["result"]["cost_microusd"] = 1

    rechain(trace(forged), cheaper)
    found = compared(verify(forged, 0), forged, pair[1], KEY)
    assert any("differs where nothing is listed" in check.detail for check in found.checks)


def test_a_list_that_is_not_of_these_traces_fails_level_0(forged):
    replace(forged / "redactions.jsonl", '"line":', '"line":9')
    reseal(forged)
    levels, told = failed(forged, 0)
    assert levels == [0]
    assert "what was redacted is listed" in told
    (forged / "redactions.jsonl").write_text("{}\n")
    reseal(forged)
    assert failed(forged, 0)[0] == [0]


def test_the_raw_bundle_is_no_redacted_one(pair):
    found = compared(verify(pair[1], 0), pair[1], pair[1])
    assert not found.verified
    assert "this is no redacted bundle" in found.checks[-1].detail


def test_the_same_key_gives_the_same_bytes(talkative, pair, tmp_path):
    again = redact(talkative, tmp_path / "again")
    for path in pair[0].rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (again / path.relative_to(pair[0])).read_bytes()


# -- gates ------------------------------------------------------------------------------------


def test_the_canary_in_a_trace_stops_every_bundle(tmp_path):
    toy = ready(tmp_path / "e", tasks=2)
    fake = canary.value(toy.experiment.lock.prereg_digest)
    rechain(trace(toy.experiment.path), say(f"environ: {fake}"))
    with pytest.raises(InvalidExperimentError, match="HFR_BENCH_CANARY_API_KEY"):
        redact(toy, tmp_path / "b")
    with pytest.raises(InvalidExperimentError, match="HFR_BENCH_CANARY_API_KEY"):
        toy.bundle(tmp_path / "b", scanner=this_machine(toy.experiment))
    assert not (tmp_path / "b").exists()


def test_a_planted_canary_is_told_and_a_journal_without_one_too(tmp_path):
    toy = ready(tmp_path / "e", tasks=2)
    assert not canary.was_planted(toy.experiment.path)
    log = toy.experiment.path / RUN_LOG
    lines = [json.loads(line) | {"canary": True} for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = redact(toy, tmp_path / "b")
    assert Redacted.loads((out / "redaction.json").read_bytes()).canary is True


def test_the_canary_is_in_the_environment_while_it_is_planted():
    with canary.planted("d"):
        assert os.environ[canary.NAME] == canary.value("d")
    assert canary.NAME not in os.environ


def test_a_secret_in_what_was_frozen_stops_it(tmp_path):
    toy = ready(tmp_path / "e", tasks=2)
    path = toy.experiment.path / "prereg.yaml"
    path.write_text(f"{path.read_text()}# {SECRET}\n")
    with pytest.raises(InvalidExperimentError, match=r"prereg.yaml:.*MY_API_KEY"):
        redact(toy, tmp_path / "b")


def test_a_line_that_cannot_be_read_cannot_be_redacted(tmp_path):
    toy = ready(tmp_path / "e", tasks=2)
    path = trace(toy.experiment.path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InvalidExperimentError, match=r"hfr.jsonl:\d+: cannot be read"):
        redact(toy, tmp_path / "b", incomplete=True)


def test_a_change_that_is_no_longer_listed_fails_level_0(forged):
    """Dropped from the list alone, and from its count as well: the trace still shows a digest."""
    path = forged / "redactions.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    gone = json.loads(lines[-1])
    path.write_text("".join(lines[:-1]))
    reseal(forged)
    assert "counts otherwise than redactions.jsonl lists" in failed(forged, 0)[1]
    says = json.loads((forged / "redaction.json").read_text())
    says["counts"][gone["rule"]] -= 1
    says["counts"] = {rule: count for rule, count in says["counts"].items() if count}
    (forged / "redaction.json").write_text(json.dumps(says))
    reseal(forged)
    levels, said = failed(forged, 0)
    assert levels == [0]
    assert "its digests of texts are not those listed" in said


def test_a_canary_that_no_run_had_and_raw_ends_of_other_traces(forged):
    replace(forged / "redaction.json", '"canary":false', '"canary":true')
    reseal(forged)
    assert "does not say that it was planted" in failed(forged, 0)[1]
    says = json.loads((forged / "redaction.json").read_text()) | {"canary": False}
    says["raw"] = says["raw"][1:]
    (forged / "redaction.json").write_text(json.dumps(says))
    reseal(forged)
    assert "has the raw ends of other traces" in failed(forged, 0)[1]


def test_what_is_incomplete_is_named_as_its_owner_knows_it(tmp_path):
    toy = ready(tmp_path / "e", tasks=2)
    trace(toy.experiment.path).unlink()
    with pytest.raises(InvalidExperimentError, match="INCOMPLETE") as caught:
        redact(toy, tmp_path / "b")
    assert str(caught.value).startswith(f"{toy.experiment.path}: ")
    assert "hfr-redact" not in str(caught.value)
