"""One file a trial: the hash chain, the final name, and what earlier runs left."""

import hashlib
import json
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hfr_bench.lab.journal import Durability, JournalError, TrialJournal
from hfr_bench.model.trace import Said, TraceEvent
from hfr_bench.testing.fakes import FakeClock


def said(text: str = "x") -> Said:
    return Said(who="user", text_digest=text, length=len(text))


def write(path: Path, *texts: str) -> TrialJournal:
    with TrialJournal(path, "t", FakeClock()) as journal:
        for text in texts:
            journal.write(said(text))
    return journal


def interrupted(path: Path, text: str) -> None:
    with TrialJournal(path, "t", FakeClock()) as journal:
        journal.write(said(text))
        raise KeyboardInterrupt


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_every_line_carries_the_hash_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "r1" / "arm.jsonl"
    clock = FakeClock()
    with TrialJournal(path, "t", clock) as journal:
        journal.write(said("ünï"), step=3, attempt=2)
        clock.wait(5)
        journal.write(said("b"))
        journal.write(said("c"))
    lines = path.read_bytes().splitlines()
    events = [TraceEvent.loads(line) for line in lines]
    assert events == journal.events
    assert [event.seq for event in events] == [1, 2, 3]
    assert [event.t_us for event in events] == [0, 5, 5]
    assert (events[0].step, events[0].attempt) == (3, 2)
    hashes = [hashlib.sha256(line).hexdigest() for line in lines]
    assert [event.prev for event in events] == ["", hashes[0], hashes[1]]
    walls = [event.wall_us for event in events]
    assert walls == sorted(walls)


def test_a_trial_under_way_has_another_name_and_is_readable_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "arm.jsonl"
    with TrialJournal(path, "t", FakeClock()) as journal:
        journal.write(said())
        assert names(tmp_path) == ["arm.jsonl.part"]
        assert (tmp_path / "arm.jsonl.part").read_bytes().endswith(b"}\n")
    assert names(tmp_path) == ["arm.jsonl"]


def test_an_interrupted_trial_keeps_its_part_and_is_archived_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "arm.jsonl"
    for text in ("first", "second"):
        with pytest.raises(KeyboardInterrupt):
            interrupted(path, text)
    assert names(tmp_path) == ["arm.jsonl.interrupted-1", "arm.jsonl.part"]
    write(path, "third")
    assert names(tmp_path) == [
        "arm.jsonl",
        "arm.jsonl.interrupted-1",
        "arm.jsonl.interrupted-2",
    ]
    kept = [(tmp_path / name).read_text() for name in names(tmp_path)]
    assert ["third" in kept[0], "first" in kept[1], "second" in kept[2]] == [True] * 3


def test_a_damaged_trace_is_moved_aside_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "arm.jsonl"
    for text in ("one", "two", "three"):
        path.write_text(f"damaged {text}")
        write(path, text)
        assert json.loads(path.read_text())["body"]["text_digest"] == text
    assert names(tmp_path) == ["arm.jsonl", *(f"arm.jsonl.damaged-{n}" for n in (1, 2, 3))]
    assert (tmp_path / "arm.jsonl.damaged-1").read_text() == "damaged one"
    assert (tmp_path / "arm.jsonl.damaged-3").read_text() == "damaged three"


def test_a_line_too_long_for_one_write_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "arm.jsonl"
    write(path, "x" * 5_000_000, "y")
    first, second = path.read_bytes().splitlines()
    assert len(TraceEvent.loads(first).dumps()) > 5_000_000
    assert TraceEvent.loads(second).prev == hashlib.sha256(first).hexdigest()


@pytest.fixture
def room() -> Iterator[Callable[[int], None]]:
    """Lets this process write files of so many bytes, and no longer ones, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_told_and_the_torn_trace_is_archived_by_the_next(
    tmp_path: Path, room: Callable[[int], None]
) -> None:
    path = tmp_path / "arm.jsonl"
    journal = TrialJournal(path, "t", FakeClock())
    journal.write(said("fits"))
    room(path.with_name("arm.jsonl.part").stat().st_size + 20)
    with pytest.raises(JournalError, match=r"arm.jsonl.part.*run again") as told:
        journal.write(said("does not"))
    room(resource.RLIM_INFINITY)
    assert told.value.exit_code == 3
    assert names(tmp_path) == ["arm.jsonl.part"]
    write(path, "again")
    assert names(tmp_path) == ["arm.jsonl", "arm.jsonl.interrupted-1"]
    assert not (tmp_path / "arm.jsonl.interrupted-1").read_bytes().endswith(b"\n")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "r1").write_text("a file")
    with pytest.raises(JournalError, match="the trace cannot be written"):
        TrialJournal(tmp_path / "r1" / "arm.jsonl", "t", FakeClock())


@pytest.mark.parametrize("durability", ["process", "power"])
def test_both_durabilities_write_the_same(tmp_path: Path, durability: Durability) -> None:
    path = tmp_path / "arm.jsonl"
    with TrialJournal(path, "t", FakeClock(), durability) as journal:
        journal.write(said("a"))
        journal.write(said("b"))
    assert [TraceEvent.loads(line).seq for line in path.read_bytes().splitlines()] == [1, 2]
