"""Texts of tasks: shown of our own suite, as the agent and the user know them, and of no other."""

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.register import load
from hfr_bench.lab.review.words import words
from hfr_bench.suites.shopdesk.generate import seed_digest

DESK = """\
v: 1
name: desk
title: A desk
origin: rehearsal
sandbox: process
suites:
  - {suite: shopdesk, config: {seed: review, tasks: 2}, pool: base}
seeds: [1]
faults: {matrix: stress, rates: [0]}
arms: [{name: no_retry, strategy: no_retry}]
analysis: {baseline: no_retry, resamples: 200}
"""


@pytest.fixture
def desk(tmp_path):
    folder = tmp_path / "desk"
    folder.mkdir()

    def frozen(text):
        (folder / "prereg.yaml").write_text(text)
        assert run(["freeze", str(folder)]) == 0
        return load(folder)

    return frozen


def test_our_own_texts_are_shown(desk):
    experiment = desk(DESK)
    found, notes = words(experiment)
    assert notes == ()
    ids = {row.trial.task_id for row in experiment.plan}
    assert {task for _, task in found} == ids
    for text in found.values():
        assert "You are the agent of an order desk." in text.rules
        assert text.request.startswith("Hello, I am ")


def test_a_seed_that_is_still_a_secret_is_not_told(desk, monkeypatch):
    monkeypatch.setenv("HFR_BENCH_SHOPDESK_SEED", "review")
    committed = DESK.replace("seed: review", f"seed_digest: {seed_digest('review')}")
    experiment = desk(committed)
    assert words(experiment)[1] == ()
    monkeypatch.delenv("HFR_BENCH_SHOPDESK_SEED")
    found, notes = words(experiment)
    assert found == {}
    assert notes[0].startswith("shopdesk: tasks are shown by id: ")


def test_a_suite_that_changed_is_not_quoted(desk):
    experiment = desk(DESK)
    pin = experiment.lock.sources[0].model_copy(update={"content_digest": "0" * 64})
    lock = experiment.lock.model_copy(update={"sources": (pin,)})
    found, notes = words(experiment._replace(lock=lock))
    assert found == {}
    assert "the suite changed after freezing" in notes[0]
