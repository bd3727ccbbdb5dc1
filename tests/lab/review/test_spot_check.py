"""A registered spot check that lacks, or is smaller, is a deviation; one that was made is none."""

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.review.summary import with_review
from hfr_bench.lab.store import Store
from hfr_bench.model.registered import Method, SpotCheck
from hfr_bench.testing.results import KINDS


def told(experiment, **spot_check):
    """Deviations of a report of an experiment that registered this spot check."""
    method = Method(study="confirmatory", data_seen="none", sample_size="all", cost_basis="none",
                    spot_check=SpotCheck.model_validate(spot_check))  # fmt: skip
    plain = analyse(experiment.prereg, experiment.lock, experiment.plan, Store(experiment.path),
                    experiment.book.schedule, KINDS)  # fmt: skip
    prereg = experiment.prereg.model_copy(update={"method": method})
    found = with_review(plain, experiment._replace(prereg=prereg))
    return {row.what: row.detail for row in found.deviations if "spot check" in row.what}


def test_without_any_rating(experiment):
    said = told(experiment, share=0.1, raters=1)
    assert said == {"no spot check": "10% of each stratum, 1 rater(s), are registered"}


@pytest.mark.parametrize(("raters", "short"), [(2, {}), (3, "raters 2, registered 3")])
def test_with_as_many_raters_as_registered_and_with_fewer(rated, raters, short):
    said = told(rated, share=0.05, raters=raters)
    assert said.get("smaller spot check", {}) == short
