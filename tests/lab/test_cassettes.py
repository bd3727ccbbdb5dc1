"""Which trials are recorded, which are played, and which are neither."""

import hashlib
from pathlib import Path
from typing import Any

from hfr_bench.lab.cassettes import on_tape
from hfr_bench.lab.taping import AT_WORK, Recording, Tape
from hfr_bench.lab.wire import Place
from hfr_bench.testing.bench import FakeBench, planned_row


def test_who_is_recorded_and_who_is_played(tmp_path: Path) -> None:
    trial = planned_row().trial

    def opened(place: Place, **prereg: Any) -> Tape:
        bench: Any = FakeBench(**prereg)
        bench.place = place
        with on_tape(bench, trial, 2) as tape:
            assert AT_WORK.tape is tape
        assert AT_WORK.tape is None
        return tape

    live: dict[str, Any] = {"origin": "live", "clock": "wall"}
    assert type(opened(Place(tmp_path))) is Tape  # a rehearsal
    assert type(opened(Place(tmp_path, record=False), **live)) is Tape
    assert type(opened(Place(tmp_path), **live)) is Recording
    tape = opened(Place(tmp_path, replay=tmp_path), **live)
    assert (type(tape), tape.keep, tape.name, tape.end()) == (Tape, None, "x/r2/hfr", "")
    path = tmp_path / "cassettes" / "x" / "r2" / "hfr.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    assert tape.end() == hashlib.sha256(b"{}\n").hexdigest()
