"""`score`: every fault once, on real tools and a real database; nothing is sampled."""

from typing import Any

import pytest
import tenacity

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import Equipment
from hfr_bench.recovery.strategies import BlindResend, NoRetry, OracleRecovery
from hfr_bench.testing import score, wraps
from hfr_bench.testing.policies import Attempt


def three_times(attempt: Attempt) -> Any:
    return tenacity.Retrying(stop=tenacity.stop_after_attempt(3), reraise=True)(attempt)


def test_retrying_everything_is_caught_at_the_answers_that_were_lost_after_the_commit() -> None:
    found = score(wraps(three_times))
    assert found.duplicates > 0
    assert all("/landed" in one.fault for one in found.worst() if one.outcome.duplicates)
    assert found.worst()[0].fault in str(found)


def test_the_known_bad_and_the_known_good_policy_lie_apart() -> None:
    bad = score(BlindResend)
    good = score(OracleRecovery, equipment=Equipment(truth=True, query=True))
    assert good.harm == 0 < bad.harm
    assert good.succeeded == len(good.trials) == len(bad.trials)


def test_whoever_gives_up_harms_nobody_and_gets_little_done() -> None:
    found = score(NoRetry)
    faulty = [one for one in found.trials if one.fault]
    assert (found.harm, found.escalated) == (0, 0)
    assert found.failed == len(faulty) > 0


def test_it_is_the_same_every_time() -> None:
    assert score(wraps(three_times)).trials == score(wraps(three_times)).trials


def test_more_tasks_are_more_faults() -> None:
    assert len(score(NoRetry, tasks=3).trials) > len(score(NoRetry, tasks=1).trials)


def test_unknown_names_are_told() -> None:
    with pytest.raises(BadInputError, match="unknown suite"):
        score(NoRetry, suite="nowhere")
    with pytest.raises(BadInputError, match="unknown fault matrix"):
        score(NoRetry, matrix="nowhere")


def test_the_fixture_is_the_same_thing(hfr_score: Any) -> None:
    assert hfr_score is score
