"""The embedded experiment, end to end in a directory of its own: small, and again."""

import pytest

from hfr_bench import content
from hfr_bench.cli.demo import HALVES
from hfr_bench.cli.main import run

pytestmark = pytest.mark.slow


def test_the_demo_ends_with_reports_and_verified_bundles_and_goes_on_where_it_was(tmp_path, capsys):
    folder = tmp_path / "demo"
    assert run(["demo", str(folder), "--sandbox", "process"]) == 0
    told = capsys.readouterr().out
    assert told.count("VERIFIED up to level 3") == len(HALVES)
    assert "NOT VERIFIED" not in told
    for half in HALVES:
        assert (folder / f"{half}.zip").stat().st_size > 0
        assert "rehearsal" in (folder / f"{half}.html").read_text().lower()
    assert run(["demo", str(folder), "--sandbox", "process"]) == 0
    assert "complete: all 1224 trials were there already" in capsys.readouterr().out


def test_a_step_that_fails_ends_the_demo_with_its_code(tmp_path, capsys):
    folder = tmp_path / "demo" / "sampled"
    folder.mkdir(parents=True)
    (folder / "prereg.yaml").write_text("v: 1\n")
    assert run(["demo", str(tmp_path / "demo"), "--sandbox", "process"]) == 2
    assert "the demo ends here" in capsys.readouterr().err


@pytest.mark.parametrize("half", HALVES)
def test_its_registrations_are_content(half):
    assert (content.root() / "suites" / "shopdesk" / "demo" / f"{half}.yaml").is_file()
