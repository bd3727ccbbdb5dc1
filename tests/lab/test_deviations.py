"""Deviations are found in plan, traces and run log, and nothing is one that is as registered."""

import shutil

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.deviations import EXPECTED
from hfr_bench.lab.ingest import models
from hfr_bench.lab.rendering.render import to_csv, to_markdown
from hfr_bench.lab.rendering.tables_deviations import deviations as table
from hfr_bench.lab.runlog import append
from hfr_bench.lab.store import Store
from hfr_bench.model.invocation import Invocation
from hfr_bench.model.registered import Amendment, Method, ModelFacts
from hfr_bench.testing.bundled import rechain, trace
from hfr_bench.testing.results import At, answered, sent


@pytest.fixture
def spoiled(toy, tmp_path):
    """A copy of the toy experiment, free to be spoiled."""
    return toy.experiment._replace(
        path=shutil.copytree(toy.experiment.path, tmp_path / "e")
    )  # fmt: skip


def found(toy, experiment, **prereg):
    made = report(toy, experiment, **prereg)
    return {row.what: row for row in made.deviations}


def report(toy, experiment, **prereg):
    registered = experiment.prereg.model_copy(update=prereg)
    return analyse(registered, experiment.lock, experiment.plan, Store(experiment.path),
                   experiment.book.schedule, toy.content.kinds)  # fmt: skip


def test_an_experiment_as_registered_has_only_faults_that_nobody_met(toy):
    rows = found(toy, toy.experiment)
    assert set(rows) <= {EXPECTED}
    assert rows[EXPECTED].count < rows[EXPECTED].of
    assert table(report(toy, toy.experiment), brief=True) is None


def test_missing_pair_groups(toy, spoiled):
    trace(spoiled.path).unlink()
    row = found(toy, spoiled)["pair groups missing"]
    assert (row.count, row.of) == (1, len({one.trial.pair_group for one in spoiled.plan}))
    assert "1 at " in row.detail


def answers(path, *returned):
    """Have a trace's model answers come back under these names."""
    names = list(returned)

    def edit(events):
        for event in events:
            if event["body"]["type"] == "attempt_ended" and names:
                event["body"]["returned_model"] = names.pop(0)

    rechain(path, edit)


def test_a_model_that_answers_under_another_name_than_before(toy, spoiled):
    for nth in range(3):
        answers(trace(spoiled.path, "hfr", nth), "m-1")
    answers(trace(spoiled.path, "no_retry"), "m-2")
    row = found(toy, spoiled)["model drift"]
    assert row.count == 1
    assert "mostly m-1" in row.detail
    assert "1 by m-2" in row.detail


def test_a_model_that_is_not_the_registered_snapshot(toy, spoiled):
    asked = asked_for(trace(spoiled.path))
    for nth in range(3):
        answers(trace(spoiled.path, "hfr", nth), "m-2")
    facts = ModelFacts(name=asked, provider="p", snapshot="m-1", training_cutoff="unknown")
    method = Method(study="confirmatory", data_seen="none", sample_size="all", cost_basis="none",
                    models=(facts,))  # fmt: skip
    row = found(toy, spoiled, method=method)["model drift"]
    assert (row.count, row.of) == (3, 3)
    assert "registered m-1" in row.detail
    right = facts.model_copy(update={"snapshot": "m-2"})
    method = method.model_copy(update={"models": (right,)})
    assert "model drift" not in found(toy, spoiled, method=method)


def asked_for(path):
    events = Store(path.parents[3]).read(
        next(file for file in Store(path.parents[3]).files() if file.path == path)
    )
    return next(e.body.target for e in events.events if e.body.type == "attempt_started")


def test_names_are_counted_by_the_model_that_was_asked():
    said = {"returned_model": "m-1"}
    events = []
    for step, target in ((1, "a"), (2, "b"), (3, "a")):
        events += [At(sent(target=target), step, 1), At(answered(**said), step, 1)]
    assert models(events) == (("a", "m-1", 2), ("b", "m-1", 1))


def test_another_sandbox_and_other_images(toy, spoiled):
    def elsewhere(image):
        def edit(events):
            events[0]["body"] |= {"sandbox": "docker", "image_id": image}

        return edit

    rechain(trace(spoiled.path), elsewhere("one"))
    rechain(trace(spoiled.path, "no_retry"), elsewhere("two"))
    rows = found(toy, spoiled)
    assert rows["sandbox"].count == 2
    assert rows["sandbox"].detail == "registered process, ran in docker"
    assert rows["image drift"].detail == "2 images of 1 suite(s)"


def test_a_run_by_another_version(toy, spoiled):
    call = Invocation(at="2026-01-02T00:00:00+00:00", owner="o", harness_version="9.9",
                      sandbox="process", workers=1, durability="process")  # fmt: skip
    append(spoiled.path, call)
    row = found(toy, spoiled)["harness version"]
    assert row.detail.endswith("run by 9.9")


def test_an_amendment_and_what_it_made_exploratory(toy, spoiled):
    late = spoiled.lock.model_copy(update={"after_data": ("H7",)})
    amendment = Amendment(reason="a slip", trials_seen=12)
    row = found(toy, spoiled._replace(lock=late), amendment=amendment, amends="f" * 64)
    row = row["amended after trials were seen"]
    assert row.count == 12
    assert row.detail == ("follows ffffffffffff: a slip; exploratory, for changed after data: H7")


def test_every_format_has_them(toy, spoiled):
    trace(spoiled.path).unlink()
    made = report(toy, spoiled)
    assert "## Deviations from the registration" in to_markdown(made)
    assert "rehearsal,deviation,pair groups missing" in to_csv(made)
    assert '"deviations":[{' in made.model_dump_json()
    assert table(made, brief=True).rows[0][0].main == "pair groups missing"


def test_a_page_of_html_has_a_section_of_them_or_says_none(toy, spoiled):
    html = pytest.importorskip("hfr_bench.lab.rendering.html")
    made = report(toy, spoiled)
    (shown,) = html._deviations(made).tables
    assert shown["name"] == "Deviations from the registration"
    none = html._deviations(made.model_copy(update={"deviations": ()}))
    assert none.tables == ()
    assert "everything that can be told from plan and traces" in none.text[0]
