"""Who looked before the end: run.jsonl and the report of a bundle must tell the same."""

from pathlib import Path

from hfr_bench.lab.runlog import LOOKED, RUN_LOG, looked
from hfr_bench.model.prereg import Hypothesis
from hfr_bench.testing.bundled import failed, ready, reseal


def test_a_look_taken_out_of_the_log_alone_betrays_itself(tmp_path: Path) -> None:
    """Out of log and report alike it cannot be known: docs/bundle.md says so."""
    claim = Hypothesis(
        id="H1", metric="harm_1000", arm="blind_resend", against="no_retry", direction="greater"
    )
    made = ready(tmp_path / "e", rates=(0.9,), hypotheses=(claim,))
    assert not looked(made.experiment.path, 3, "0.1.0", "me")
    bundle = made.bundle(tmp_path / "b", drawn=False)
    assert failed(bundle)[0] == []
    log = bundle / RUN_LOG
    lines = log.read_text().splitlines(keepends=True)
    kept = [line for line in lines if f'"{LOOKED}"' not in line]
    assert len(kept) == len(lines) - 1
    log.write_text("".join(kept))
    reseal(bundle)
    levels, told = failed(bundle)
    assert 3 in levels
    assert "deviations" in told
