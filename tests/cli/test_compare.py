"""`hfr-bench compare` of a real experiment."""

import json

import pytest

from hfr_bench.cli.compare import compare
from hfr_bench.errors import BadInputError

pytestmark = pytest.mark.tau2


@pytest.fixture
def compared(finished, capsys):
    """What `compare` prints of two arms."""

    def call(*arguments):
        capsys.readouterr()
        assert compare.main([str(finished), *arguments], standalone_mode=False) == 0
        return capsys.readouterr().out

    return call


def test_two_arms_side_by_side(compared):
    text = compared("hfr", "no_retry")
    assert text.startswith("hfr against no_retry, all rates above 0 (rehearsal)")
    for part in ("Success", "Harm differs in", "Differences, ", "Faults met", "SR pp"):
        assert part in text
    assert "\x1b" not in text


def test_json_says_the_same(compared):
    found = json.loads(compared("hfr", "no_retry", "--json"))
    text = compared("hfr", "no_retry")
    assert f"only hfr: {len(found['won'])}" in text
    assert f"both {found['both']}, neither {found['neither']}" in text
    for pair in found["won"]:
        assert pair["ours"]["trial_id"][:8] in text


def test_one_rate(compared):
    assert "20 % faults (rehearsal)" in compared("hfr", "no_retry", "--rate", "0.2")


def test_an_unknown_arm_lists_what_there_is(finished):
    with pytest.raises(BadInputError, match=r"no arm 'x'; there are: .*no_retry"):
        compare.main([str(finished), "x", "no_retry"], standalone_mode=False)
