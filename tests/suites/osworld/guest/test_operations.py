"""The log of operations outlives the guest, and tells what is begun from what has ended."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.suites.osworld.guest.operations import Operations


def test_begun_ended_and_begun_again(tmp_path):
    log = Operations(tmp_path)
    assert log.find("a") == {"id": "a", "state": "absent", "runs": 0, "ended": 0}
    assert log.begin("a", "/execute") == 1
    assert log.find("a")["state"] == "started"
    log.end("a", 1, 200, 0)
    done = log.find("a")
    assert (done["state"], done["runs"], done["returncode"]) == ("done", 1, 0)
    assert log.begin("a", "/execute") == 2
    again = log.find("a")
    assert (again["state"], again["runs"], again["returncode"]) == ("started", 2, None)


def test_the_end_of_an_earlier_run_says_nothing_of_the_last(tmp_path):
    log = Operations(tmp_path)
    assert (log.begin("a", "/x"), log.begin("a", "/x")) == (1, 2)
    log.end("a", 1, 200, 7)
    assert (log.find("a")["state"], log.find("a")["ended"]) == ("started", 1)
    log.end("a", 2, 500, None)
    assert log.find("a")["status"] == 500


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12))
def test_a_new_log_in_the_same_folder_knows_what_the_old_one_did(tmp_path_factory, steps):
    folder = Path(tmp_path_factory.mktemp("log"))
    log = Operations(folder)
    for name, ends in steps:
        run = log.begin(name, "/x")
        if ends:
            log.end(name, run, 200, 0)
    assert Operations(folder).all() == log.all()


def test_a_last_line_that_was_cut_off_is_passed_over(tmp_path):
    Operations(tmp_path).begin("a", "/x")
    with (tmp_path / "operations.jsonl").open("a") as file:
        file.write('{"id": "b", "ru')
    log = Operations(tmp_path)
    assert log.find("b")["state"] == "absent"
    log.begin("c", "/x")
    assert Operations(tmp_path).find("c")["state"] == "started"
