"""What a task takes, and what lacks of it, told before a run."""

import pytest
from checkout import GOLD, START, task, write

from hfr_bench.suites.osworld.cache import cached_name
from hfr_bench.suites.osworld.classify import Equipment, Needs, needs_of, task_lacks
from hfr_bench.suites.osworld.load import find_checkout, load
from hfr_bench.suites.osworld.needs import lacking
from hfr_bench.suites.osworld.tasks import read_record


@pytest.fixture
def three(tmp_path):
    return load(find_checkout(write(tmp_path)))


def test_what_a_task_takes_is_read_from_its_text(three):
    assert [needs_of(record) for record in three] == [
        Needs("offline", (), ("os",), False, False, False, "files"),
        Needs(
            "assets", ("huggingface.co",), ("os", "libreoffice_calc"), False, False, False, "files"
        ),
        Needs("live", ("shop.invalid",), ("chrome",), True, True, False, "desktop"),
    ]


def test_a_task_that_cannot_be_done_reads_nothing():
    assert needs_of(read_record(task("x"), "os", "x")).reads == "nothing"


def test_a_proxy_alone_is_the_living_web():
    assert needs_of(read_record(task("x", proxy=True), "os", "x")).network == "live"


def test_a_plain_task_lacks_nothing(three):
    assert task_lacks(three[0], Equipment()) == ()
    assert task_lacks(three[0], Equipment(apps=frozenset({"os"}))) == ()
    lacks = task_lacks(three[0], Equipment(apps=frozenset({"chrome"})))
    assert lacks == ("no program os in the guest",)


def test_files_lack_one_by_one_until_the_cache_has_them(three, tmp_path):
    record, cache = three[1], tmp_path / "kept"
    assert "2 files of its own, and no cache" in task_lacks(record, Equipment())[0]
    said = task_lacks(record, Equipment(cache=cache))[0]
    assert "2 of its 2 files are not in" in said
    assert GOLD in said
    (cache / "sort").mkdir(parents=True)
    (cache / "sort" / cached_name(START, "/home/user/a.txt")).write_text("x")
    assert "1 of its 2 files" in task_lacks(record, Equipment(cache=cache))[0]
    (cache / "sort" / "gold.txt").write_text("x")
    assert task_lacks(record, Equipment(cache=cache)) == ()


def test_all_that_lacks_is_said_at_once(three):
    assert task_lacks(three[2], Equipment(apps=frozenset({"os"}))) == (
        "no program chrome in the guest",
        "it asks for a proxy",
        "it takes a Google account",
        "it takes the living web (shop.invalid)",
        "no step 'login'",
        "no getter 'active_tab_info'",
    )


def test_a_library_that_is_missing_is_named_with_the_extra():
    part = {
        "func": "compare_table",
        "result": {"type": "content_from_vm_file"},
        "options": {"rules": [{"type": "sheet_name"}]},
    }
    evaluator = read_record(task("x", evaluator=part), "os", "x").evaluator
    said = lacking(evaluator, there=lambda name: name not in {"pandas", "rapidfuzz"})
    assert said == (
        "getter 'content_from_vm_file' needs pandas (pip install 'hfr-bench[osworld]')",
        "metric 'compare_table' needs pandas, rapidfuzz (pip install 'hfr-bench[osworld]')",
    )
    assert lacking(evaluator) == ()


@pytest.mark.parametrize(
    ("func", "options", "said"),
    [
        ("compare_table", {"rules": [{"type": "style"}]}, "'compare_table' without rule 'style'"),
        ("compare_archive", {"file_type": "pdf"}, "'compare_archive' without file_type 'pdf'"),
        ("compare_archive", {"file_type": "table", "rules": [{"type": "x"}]}, "without rule 'x'"),
    ],
)
def test_an_option_that_is_not_carried_out_is_named(func, options, said):
    part = {"func": func, "result": {"type": "vm_file"}, "options": options}
    found = lacking(read_record(task("x", evaluator=part), "os", "x").evaluator)
    assert len(found) == 1
    assert said in found[0]
