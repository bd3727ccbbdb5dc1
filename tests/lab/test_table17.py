"""Table 17: pending where nobody ran, and a rehearsal never in the place of a model's result."""

import pytest

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.table17 import METRICS17, lines
from hfr_bench.testing.bundled import ready


def test_what_nobody_ran_is_pending():
    found = lines(())
    assert [line.suite for line in found if line.arm == "hfr"] == list(content.table17())
    assert {cell for line in found for cell in line.cells} == {"pending"}
    assert {(line.tasks, line.rates) for line in found} == {("200", "5%/10%/20%")}
    assert {line.origin for line in found} == {"pending"}
    assert len(METRICS17) == 6


def test_experiments_of_other_suites_are_refused(tmp_path):
    ready(tmp_path / "e", tasks=1)
    with pytest.raises(BadInputError, match=r"is of s; a row of table 17 is of one of swe_bench"):
        lines([tmp_path / "e"])
