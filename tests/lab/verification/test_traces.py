"""Traces are copied out of a bundle where a level comes back to them, and nothing else is."""

from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal
from hfr_bench.lab.verification.ahead import Ahead
from hfr_bench.lab.verification.crew import Crew
from hfr_bench.lab.verification.files import lay_out
from hfr_bench.lab.verification.read import opened
from hfr_bench.lab.verification.traces import lay

ONE, OTHER, ODD = "trials/g/r1/a.jsonl", "trials/g/r1/b.jsonl", "trials/g/r1/c.jsonl"


class Fake:
    """A bundle of a few files, one of which cannot be unpacked."""

    names = (ONE, OTHER, ODD, "plan.jsonl", "trials/g/r1/a.jsonl.void-1")
    sizes = dict.fromkeys(names, 1)

    def read(self, name: str) -> bytes:
        if name == ODD:
            raise BadInputError(f"{name}: cannot be unpacked")
        return name.encode()


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_only_traces_that_are_in_the_bundle_are_laid_out(tmp_path):
    lay(Fake(), tmp_path, {ONE, ODD, "trials/../../x/r1/a.jsonl", "trials/h/r1/a.jsonl"})
    assert below(tmp_path) == {ONE}
    lay(Fake(), tmp_path, set(Fake.names))
    assert below(tmp_path) == {ONE, OTHER}


def test_what_lies_there_is_left_as_it_is(tmp_path):
    path = tmp_path / ONE
    path.parent.mkdir(parents=True)
    path.write_bytes(b"somebody reads it")
    lay(Fake(), tmp_path, {ONE})
    assert path.read_bytes() == b"somebody reads it"


@pytest.mark.parametrize(("level", "kept"), [(0, False), (3, False), (4, True)])
def test_copies_are_made_of_all_only_for_who_runs_trials_again(toy_bundle, tmp_path, level, kept):
    with opened(toy_bundle) as files:
        ahead = Ahead(Crew(1), toy_bundle, files, level)
        work = lay_out(files, tmp_path, ahead.read)
        traces = {name for name in files.names if seal.TRACE.fullmatch(name)}
    assert {one.name for one in work.seen} == traces
    assert (below(tmp_path) >= traces) is kept
    assert kept or not below(tmp_path) & traces
