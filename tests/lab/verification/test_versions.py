"""Bundles of other versions: told as such, never a crash, never taken for damage."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.rendering.pages import code_digest
from hfr_bench.lab.verification.files import other_version
from hfr_bench.lab.verification.verify import verify
from hfr_bench.testing.bundled import failed, replace, reseal


def edit(path, **fields):
    """Set fields of a JSON file; None takes one away."""
    said = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({k: v for k, v in said.items() if v is not None}))


def test_what_a_later_version_says_of_its_bundle_is_no_damage(forged):
    edit(forged / "bundle.json", harness_version="9.9", novelty=1)
    with pytest.raises(BadInputError, match=r"novelty: unknown key \(made by hfr-bench 9.9"):
        verify(forged)


def test_what_a_later_version_froze_is_no_damage(forged):
    edit(forged / "prereg.lock.json", novelty=1)
    replace(forged / "bundle.json", '"harness_version":"', '"harness_version":"9.')
    reseal(forged, chains=False)
    levels, told = failed(forged, 1)
    assert 1 in levels
    assert "novelty: unknown key" in told
    assert "made by hfr-bench 9." in told
    assert "verify it with 9." in told


def test_a_report_of_another_state_of_this_version_may_lack_fields(forged):
    edit(forged / "environment.json", code="f" * 64)
    edit(forged / "report.json", deviations=None)
    reseal(forged)
    found = verify(forged)
    assert found.verified, [check for check in found.checks if not check.ok]
    (numbers,) = [check for check in found.checks if check.check.startswith("report.json")]
    assert "made by another state of" in numbers.detail
    assert "(code ffffffffffff)" in numbers.detail
    assert "without deviations" in numbers.detail


def test_a_report_of_another_state_may_not_say_something_else(forged):
    edit(forged / "environment.json", code="f" * 64)
    replace(forged / "report.json", '"trials_analysed":', '"trials_analysed":9')
    reseal(forged)
    assert "made by another state of" in failed(forged)[1]


def test_a_bundle_from_before_the_code_was_told(forged):
    edit(forged / "environment.json", code=None)
    reseal(forged)
    found = verify(forged)
    assert found.verified
    assert any("(code not told)" in check.detail for check in found.checks)


def test_a_report_of_this_very_code_lacks_nothing(forged):
    edit(forged / "report.json", deviations=None)
    reseal(forged)
    assert "deviations is not there" in failed(forged)[1]


def html(bundle):
    """What verification says of the page."""
    (check,) = (one for one in verify(bundle).checks if one.check.startswith("report.html"))
    return check


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('x1="', 'x1="9', "report's; style and drawings were not compared"),
        ("</desc>", ", really</desc>", "made by other versions: not compared"),
    ],
)
def test_a_page_of_another_state_that_is_only_drawn_otherwise(
    drawn_bundle, tmp_path, old, new, told
):
    """It is no lie, nor is it vouched for; of the same code it is a lie."""
    forged = Path(shutil.copytree(drawn_bundle, tmp_path / "b"))
    replace(forged / "report.html", old, new)
    reseal(forged)
    assert html(forged).ok is False
    edit(forged / "environment.json", code="f" * 64)
    reseal(forged)
    found = html(forged)
    assert found.ok is None
    assert told in found.detail


def test_a_page_that_cannot_be_drawn_here_is_not_passed_over(drawn_bundle):
    program = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from hfr_bench.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "verify", str(drawn_bundle)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert re.search(r"report[.]html shows that report +- +not compared", done.stdout)
    assert done.returncode == 0


def test_the_code_has_one_digest():
    assert code_digest() == code_digest()
    assert len(code_digest()) == 64
    assert code_digest() != hashlib.sha256().hexdigest(), "no file of the package was read"


@pytest.mark.parametrize("data", [b"", b"[]", b'{"harness_version": 1}', b"{}"])
def test_files_that_tell_no_version(data):
    assert other_version(data) == ""
