"""What a live model's tokens cost follows from the price rows in its bundle, or is told not to.

The model here is a stand-in of the tests that is labelled live: nobody's number.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.pricing import PRICES, check_prices, prices_in
from hfr_bench.lab.register import load
from hfr_bench.lab.verification.bills import Bill, Shown
from hfr_bench.lab.verification.files import Work
from hfr_bench.lab.verification.prices import tokens_cost
from hfr_bench.lab.verification.traces import Seen
from hfr_bench.lab.verification.verify import verify
from hfr_bench.model.bundle import Bundle, Check
from hfr_bench.model.cassette import Heard, Taped
from hfr_bench.model.record import compact, text_digest
from hfr_bench.model.terms import Origin
from hfr_bench.testing.bundled import Ready, failed, forge, rechain, reseal

Freeze = Callable[[Path, str], Path]

PREREG = """\
v: 1
name: tabled
title: Labelled live, answered by a stand-in of the tests that charges by tokens
origin: live
clock: wall
suites: [{suite: shopdesk, pool: base, config: {tasks: 1}}]
sandbox: process
model: {llm: tabled, agent: standin-1, backup: null, config: {url: "URL"}}
seeds: [1]
faults: {matrix: stress, rates: [0, 0.2]}
arms: [{name: no_retry, strategy: no_retry}, {name: hfr, strategy: hfr}]
controls: {injector_removed: true, a_a: false}
limits: {model_timeout_s: 4, tool_timeout_s: 4, max_steps: 20}
human: {delay_s: 0}
analysis: {baseline: no_retry, resamples: 200}
"""
TITLE = "a live model's tokens cost their price"
ROW = {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06}
TABLE = compact({"m": ROW, "n": None}).encode()
AT = ("model:agent", 1, 1)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, freeze_live: Freeze) -> Path:
    """The experiment, frozen and run."""
    made = freeze_live(tmp_path_factory.mktemp("tabled"), PREREG)
    assert run(["run", str(made), "-n", "2"]) == 0
    return made


@pytest.fixture(scope="module")
def bundled(live: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its bundle; never changed by a test."""
    out = tmp_path_factory.mktemp("bundled") / "b"
    assert run(["bundle", str(live), "-o", str(out), "--with-places"]) == 0
    return out


@pytest.fixture
def forged(bundled: Path, tmp_path: Path) -> Path:
    """A copy of it, free to be forged."""
    return Path(shutil.copytree(bundled, tmp_path / "b"))


def check(bundle: Path, title: str = TITLE) -> Check:
    (found,) = [one for one in verify(bundle).checks if one.check == title]
    return found


# -- a whole bundle ---------------------------------------------------------------------------


def test_the_rows_are_frozen_bundled_and_every_attempt_is_held_to_them(
    live: Path, bundled: Path
) -> None:
    data = (bundled / PRICES).read_bytes()
    assert text_digest(data) == load(live).lock.prices_digest
    found = verify(bundled)
    assert found.verified, [one for one in found.checks if one.ok is False]
    assert check(bundled, "the model prices are those of the lock").ok is True
    told = check(bundled)
    attempts = sum(
        '"type":"attempt_started"' in line and '"channel":"model"' in line
        for path in bundled.glob("trials/*/*/*.jsonl")
        for line in path.read_text().splitlines()
    )
    assert told.ok is True
    assert told.detail.startswith(f"{attempts} attempts, 2 models, the price of 1 not known")


def test_an_arm_that_was_made_cheaper(forged: Path) -> None:
    """Sums and report follow, and all seals: only the rows betray it."""

    def halve(events: list[dict[str, Any]]) -> None:
        saved = 0
        for event in events:
            body = event["body"]
            if body["type"] == "attempt_ended" and body["tokens_in"]:
                saved += body["cost_microusd"] - 1
                body["cost_microusd"] = 1
        events[-1]["body"]["result"]["cost_microusd"] -= saved

    for path in sorted(forged.glob("trials/*/r1/hfr.jsonl")):
        rechain(path, halve)
    forge(forged)
    levels, said = failed(forged)
    assert levels == [3]
    assert f"{TITLE}: trials/" in said
    assert "it cost 1, " in said


def test_other_rows_are_not_those_of_the_lock(forged: Path) -> None:
    (forged / PRICES).write_text(compact({"standin-1": ROW}))
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [1, 3]
    assert f"the model prices are those of the lock: {PRICES} has" in said


def test_a_bundle_without_them_is_taken_at_its_makers_word_and_says_so(forged: Path) -> None:
    (forged / PRICES).unlink()
    reseal(forged)
    assert failed(forged) == ([], "")
    told = check(forged)
    assert told.ok is None
    assert told.detail.startswith(f"no {PRICES}: what ")


def test_whoever_changes_them_beside_the_lock_is_told(live: Path, tmp_path: Path) -> None:
    spoiled = Path(shutil.copytree(live, tmp_path / "e"))
    (spoiled / PRICES).write_text("{}")
    assert run(["report", str(spoiled)]) == 2
    (spoiled / PRICES).unlink()
    check_prices(spoiled, load(spoiled).lock.prices_digest)


def test_they_leave_with_a_redacted_bundle(live: Path, bundled: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    assert run(["bundle", str(live), "-o", str(out), "--with-places", "--redact"]) == 0
    assert (out / PRICES).read_bytes() == (bundled / PRICES).read_bytes()
    assert check(out).ok is True
    assert run(["verify", str(out), "--raw", str(bundled)]) == 0


def test_a_rehearsal_has_no_use_for_them(toy_bundle: Path, tmp_path: Path) -> None:
    forged = Path(shutil.copytree(toy_bundle, tmp_path / "b"))
    (forged / PRICES).write_bytes(TABLE)
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [1]
    assert f"{PRICES}: no live model is registered" in said


# -- bill by bill -----------------------------------------------------------------------------


@pytest.fixture
def judged(toy: Ready, toy_bundle: Path, tmp_path: Path) -> Callable[..., Check]:
    """The check of one bill; `taped`: the body of its recorded answer."""
    says = Bundle.loads((toy_bundle / "bundle.json").read_bytes())
    prereg = toy.experiment.prereg.model_copy(update={"origin": Origin.LIVE})

    def judge(
        shown: Shown, cost: int | None, model: str = "m", *, taped: str | None = None,
        table: bytes = TABLE,
    ) -> Check:  # fmt: skip
        said = (10, 5) if shown is Shown.SEEN else (0, 0)
        seen = Seen("trials/g/r1/a.jsonl", bills=(Bill(AT, model, shown, said, cost),))
        if taped is not None:
            path = tmp_path / "cassettes" / "g" / "r1" / "a.jsonl"
            path.parent.mkdir(parents=True)
            point, occurrence, attempt = AT
            line = Taped(
                point=point, occurrence=occurrence, attempt=attempt, target=model,
                request_digest="r", response=Heard(status=200, pieces=(taped,)),
            )  # fmt: skip
            path.write_text(f"{line.dumps()}\n")
        (found,) = tokens_cost(Work(says, tmp_path, {PRICES: table}, seen=(seen,)), prereg)
        return found

    return judge


@pytest.mark.parametrize(
    ("shown", "model", "due"),
    [
        (Shown.SEEN, "m", 20),
        (Shown.SEEN, "n", None),
        (Shown.FREE, "m", 0),
        (Shown.FREE, "n", 0),
    ],
)
def test_a_bill_is_what_price_and_tokens_make_and_nothing_else(
    judged: Callable[..., Check], shown: Shown, model: str, due: int | None
) -> None:
    for cost in (0, 19, 20, None):
        assert judged(shown, cost, model).ok is (cost == due)


def test_an_answer_that_no_file_shows_is_on_the_makers_word(judged: Callable[..., Check]) -> None:
    for cost in (0, 123, None):
        told = judged(Shown.UNSEEN, cost)
        assert told.ok is True
        assert "; 1 with an answer that no file shows, on the maker's word" in told.detail
    assert judged(Shown.UNSEEN, 5, "n").ok is False  # nobody can know that


@pytest.mark.parametrize("usage", [{"prompt_tokens": 10, "completion_tokens": 5}, {}, None])
def test_a_recorded_answer_shows_what_was_lost_on_the_way(
    judged: Callable[..., Check], usage: dict[str, int] | None
) -> None:
    told = judged(Shown.UNSEEN, 20, taped=json.dumps({"usage": usage}))
    assert told.ok is bool(usage)
    assert "maker's word" not in told.detail


def test_a_recording_that_cannot_be_read_shows_nothing(judged: Callable[..., Check]) -> None:
    assert "maker's word" in judged(Shown.UNSEEN, 20, taped="no JSON").detail


def test_a_model_without_a_row_and_a_file_that_is_no_table(judged: Callable[..., Check]) -> None:
    assert "x has no row" in judged(Shown.SEEN, 20, "x").detail
    for table in (b"", b"[]", b'{"m": 3}'):
        assert judged(Shown.SEEN, 20, table=table).ok is False
    with pytest.raises(ValueError, match="not a row, or null, for each model"):
        prices_in(b"[]")
