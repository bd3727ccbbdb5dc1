"""An experiment that ended at a look: its bundle is held to the look's claims."""

from pathlib import Path

import pytest

from hfr_bench.lab.interim import take
from hfr_bench.lab.looks import LOOKS, keep, taken
from hfr_bench.lab.verification.verify import verify
from hfr_bench.model.prereg import Analysis, Hypothesis
from hfr_bench.testing.bundled import Ready, failed, ready


def registered(folder: Path, direction: str) -> Ready:
    """Two looks; a claim of which everybody knows whether it holds."""
    claim = Hypothesis(
        id="H1", metric="harm_1000", arm="blind_resend", against="always_escalate",
        direction=direction,
    )  # fmt: skip
    return ready(
        folder, tasks=32, rates=(0.9,), hypotheses=(claim,),
        stopping_rule={"kind": "obrien_fleming", "looks": 2},
        analysis=Analysis(baseline="no_retry", resamples=1000),
    )  # fmt: skip


def plain(toy: Ready, out: Path) -> Path:
    """Its bundle without the page, which takes most of the time."""
    return toy.bundle(out, drawn=False)


@pytest.fixture(scope="module")
def harmful(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    return registered(tmp_path_factory.mktemp("harmful") / "e", "greater")


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    return registered(tmp_path_factory.mktemp("harmless") / "e", "less")


@pytest.mark.slow
def test_what_ended_as_registered_is_verified_and_says_where(
    harmful: Ready, tmp_path: Path
) -> None:
    kept = take(harmful.experiment, harmful.content.kinds)
    assert (kept.look, kept.stop, kept.tasks) == (1, True, 16)
    found = verify(plain(harmful, tmp_path / "b"))
    assert found.verified, [check for check in found.checks if not check.ok]
    (check,) = (check for check in found.checks if check.check == "it ended at a registered look")
    assert (check.level, check.ok) == (3, True)
    assert check.detail == "1 of 2: 16 tasks (50%), |z| 2.963; ended there, as registered"


def test_a_look_that_says_stop_without_reason_is_not_believed(
    harmless: Ready, tmp_path: Path
) -> None:
    kept = take(harmless.experiment, harmless.content.kinds)
    assert not kept.stop
    folder = harmless.experiment.path
    (folder / LOOKS).unlink()
    keep(folder, kept.model_copy(update={"stop": True}))
    assert taken(folder)[0].stop
    levels, told = failed(plain(harmless, tmp_path / "b"))
    assert levels == [3]
    assert "not every claim of the first family is supported there" in told
