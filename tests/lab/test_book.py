"""The frozen schedules: found by id, damage named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.errors import BadInputError
from hfr_bench.lab.book import Onset, ScheduleBook, read_book
from hfr_bench.model.record import digest
from hfr_bench.model.schedule import FaultEvent, FaultSchedule
from hfr_bench.model.terms import Layer


def schedule(name: str, task: str = "t") -> FaultSchedule:
    return FaultSchedule(
        schedule_id=name,
        suite="s",
        task_id=task,
        seed=1,
        profile="p",
        rate=0.1,
        generator="g",
        horizon=3,
    )


def test_schedules_are_found_by_id() -> None:
    book = ScheduleBook(schedule(name).dumps() for name in "ab")
    assert len(book) == 2
    assert book.schedule("b") == schedule("b")
    with pytest.raises(BadInputError, match="'c' is not among the frozen ones"):
        book.schedule("c")


def test_the_digest_does_not_depend_on_the_order_of_lines_but_on_every_one() -> None:
    lines = [schedule(name).dumps() for name in "abc"]
    assert ScheduleBook(lines).digest == ScheduleBook(lines[::-1]).digest
    assert ScheduleBook(lines).digest != ScheduleBook(lines[:2]).digest


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=9), max_size=4))
def test_the_digest_is_that_of_the_canonical_json_of_the_lines(ends: list[str]) -> None:
    lines = {f"{n}": f'{{"v":1,"schedule_id":"{n}"{end}' for n, end in enumerate(ends)}
    assert ScheduleBook(lines.values()).digest == digest([lines[key] for key in sorted(lines)])


@pytest.mark.parametrize(
    "line", ["{}", "", '{"v":1,"schedule_id":"abc', '{"v":2,"schedule_id":"a"}']
)
def test_a_line_that_is_no_schedule_is_named(line: str) -> None:
    with pytest.raises(BadInputError, match="here: line 2 is not a schedule"):
        ScheduleBook([schedule("a").dumps(), line], "here")


def test_a_damaged_line_is_told_when_it_is_needed() -> None:
    book = ScheduleBook([schedule("a").dumps()[:-20]])
    with pytest.raises(BadInputError, match="'a' cannot be read"):
        book.schedule("a")


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    odd = schedule("a", task="line\u2028separator\x85")
    (tmp_path / "one.jsonl").write_text(odd.dumps() + "\n", encoding="utf-8")
    (tmp_path / "two.jsonl").write_text(schedule("b").dumps() + "\n\n", encoding="utf-8")
    book = read_book(tmp_path)
    assert len(book) == 2
    assert book.schedule("a") == odd


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="run `hfr-bench freeze` first"):
        read_book(tmp_path)


def test_an_outline_tells_where_the_events_begin() -> None:
    events = (
        FaultEvent(injection_id="1", layer=Layer.TOOL, kind="lost", point="tool:é",
                   occurrence=2, attempt=3, effect_lands=True),
        FaultEvent(injection_id="2", layer=Layer.MODEL, kind="busy", point="m", occurrence=1),
    )  # fmt: skip
    made = schedule("a").model_copy(update={"events": events})
    found = ScheduleBook([made.dumps()]).outline("a").events
    names = Onset.__struct_fields__
    assert [[getattr(e, n) for n in names] for e in found] == [
        [getattr(e, n) for n in names] for e in events
    ]


def test_an_outline_of_nothing_or_of_a_damaged_line_is_told_like_the_whole() -> None:
    book = ScheduleBook([schedule("a").dumps()[:-20]])
    with pytest.raises(BadInputError, match="'a' cannot be read"):
        book.outline("a")
    with pytest.raises(BadInputError, match="'c' is not among the frozen ones"):
        book.outline("c")
