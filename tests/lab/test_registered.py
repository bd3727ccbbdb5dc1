"""What freezing refuses of a registration beyond what could not be run."""

from types import SimpleNamespace

import pytest

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.registered import check_registered, check_success, missing
from hfr_bench.model.prereg import ModelPins, Preregistration, SuiteSelection
from hfr_bench.model.registered import Amendment, Method, ModelFacts, Powering, Variance
from hfr_bench.model.terms import Origin
from hfr_bench.testing.experiments import planned

METHOD = {"study": "confirmatory", "data_seen": "none", "sample_size": "all", "cost_basis": "none"}
CLAIM = {"id": "H1", "metric": "dup_any", "arm": "hfr", "against": "no_retry", "direction": "less"}


def registered(method=(), **fields):
    return planned(method=Method.model_validate(METHOD | dict(method)), **fields).prereg


def refused(prereg):
    with pytest.raises(BadInputError) as error:
        check_registered(prereg)
    return str(error.value)


def test_a_registration_without_the_new_parts_passes():
    check_registered(planned().prereg)
    check_registered(registered())


def test_what_is_pending_is_named_with_its_place():
    said = refused(
        registered({"data_seen": "pending"}, model=ModelPins(agent="m", config={"a": ["pending"]}))
    )
    assert said.startswith("method.data_seen, model.config.a.0: still 'pending'")


def test_an_exploratory_study_tests_nothing():
    check_registered(registered({"study": "exploratory"}))
    said = refused(registered({"study": "exploratory"}, hypotheses=(CLAIM,)))
    assert said.startswith("method.study")


def test_models_that_nobody_calls_are_refused():
    facts = ModelFacts(name="other", provider="p", training_cutoff="unknown")
    said = refused(registered({"models": (facts,)}))
    assert "'other' is called by nobody" in said
    assert "rehearsal-primary" in said


def test_variances_are_of_metrics_that_there_are():
    power = Powering(variances=(Variance(metric="SR", sd=1, source="x"),))
    assert "unknown metric 'SR'" in refused(registered(power=power))


@pytest.mark.parametrize(
    "given", [{}, {"sd": 1, "chances": (0, 0)}, {"discordant": (0.6, 0.6)}, {"sd": -1}]
)
def test_a_variance_is_said_in_one_way(given):
    with pytest.raises(ValueError, match=r"sd|discordant"):
        Variance.model_validate({"metric": "sr", "source": "x"} | given)


def bench(**attributes):
    return SimpleNamespace(suite=lambda _name: SimpleNamespace(**attributes))


def test_the_success_oracle_is_the_one_that_the_suite_judges_by():
    for success, suite in ((None, {}), ("official", {}), ("state", {"success": "state"})):
        prereg = planned(suites=(SuiteSelection(suite="s", success=success),)).prereg
        check_success(prereg, bench(**suite))
    prereg = planned(suites=(SuiteSelection(suite="s", success="state"),)).prereg
    with pytest.raises(BadInputError, match="the suite judges by 'official'"):
        check_success(prereg, bench())


def test_notes_say_what_is_not_registered():
    assert "no `method:`" in next(missing(planned().prereg, ()))
    assert list(missing(registered(), ())) == []
    (live,) = missing(registered(origin=Origin.LIVE), ())
    assert "training cut-off of rehearsal-primary lack" in live
    (old,) = missing(registered(amends="0" * 64), ())
    assert old == "amends 000000000000, which is not shown: `hfr-bench amend` would"
    amendment = Amendment(reason="r", trials_seen=9)
    (late,) = missing(registered(amends="0" * 64, amendment=amendment), ("H1",))
    assert late == "exploratory, for changed after 9 trials were seen: H1"


def test_no_digest_of_an_older_registration_changes():
    """A field that is not used is not written: pinned before these fields came."""
    fields = planned().prereg.model_dump(mode="json")
    assert not {"method", "power", "amendment"} & set(fields)
    assert not {"sample", "success"} & set(fields["suites"][0])


def test_the_shipped_registrations_of_table_17_hold_its_plan():
    rows = {suite: content.read_record(path, Preregistration)
            for suite, path in content.table17().items()}  # fmt: skip
    assert list(rows) == ["swe_bench", "tau2", "osworld", "webarena", "shopdesk"]
    for suite, prereg in rows.items():
        assert [one.suite for one in prereg.suites] == [suite]
        assert prereg.suites[0].sample.n == 200
        assert prereg.faults.rates == (0.0, 0.05, 0.10, 0.20)
        assert prereg.origin is Origin.LIVE
        assert "still 'pending'" in refused(prereg)
    arms = {suite: [arm.strategy for arm in prereg.arms] for suite, prereg in rows.items()}
    assert arms["swe_bench"] == arms["osworld"] == ["no_retry", "exp_retry", "hfr"]
    assert arms["tau2"] == arms["webarena"] == ["no_retry", "degrade_only", "hfr"]


@pytest.mark.parametrize("spread", [{"sd": 0}, {"discordant": (0, 0)}])
def test_a_variance_of_nothing_is_refused(spread):
    with pytest.raises(ValueError, match="no spread at all"):
        Variance(metric="sr", source="x", **spread)
