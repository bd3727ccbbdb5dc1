"""Where rows are: beside the registration, or on the hub; what is missing is said."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench.source import DATA, find_source


@pytest.fixture(autouse=True)
def nowhere_named(monkeypatch):
    monkeypatch.delenv(DATA, raising=False)


def test_a_file_or_a_folder_is_named_beside_the_registration(tmp_path, monkeypatch):
    one = tmp_path / "one.jsonl"
    one.touch()
    assert find_source("", one) == one
    assert find_source("one.jsonl", one) == one
    assert find_source("", tmp_path) == one
    monkeypatch.setenv(DATA, str(tmp_path))
    assert find_source("", None) == one


def test_of_several_files_the_registration_says_which(tmp_path):
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / name).touch()
    assert find_source("two.jsonl", tmp_path) == tmp_path / "two.jsonl"
    with pytest.raises(BadInputError, match=r"several files of rows, one.jsonl, two.jsonl: say"):
        find_source("", tmp_path)
    (tmp_path / "tasks").mkdir()
    assert find_source("", tmp_path) == tmp_path


def test_a_saved_dataset_is_the_folder_itself(tmp_path):
    (tmp_path / "test-0.parquet").touch()
    (tmp_path / "dataset_info.json").touch()
    assert find_source("", tmp_path) == tmp_path


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    (tmp_path / "one.jsonl").touch()
    with pytest.raises(BadInputError, match=r"no two.jsonl in it, which is registered as `rows`"):
        find_source("two.jsonl", tmp_path)
    with pytest.raises(BadInputError, match=r"no \.\./x in it"):
        find_source("../x", tmp_path)
    with pytest.raises(BadInputError, match=r"registered are the rows 'two.jsonl', and"):
        find_source("two.jsonl", tmp_path / "one.jsonl")
    monkeypatch.setenv(DATA, str(tmp_path / "gone"))
    with pytest.raises(BadInputError, match=rf"{DATA}=.*gone: there is no such file or folder"):
        find_source("", None)


def test_a_name_on_the_hub_is_registered():
    assert find_source("lite", None) == "lite"
    assert find_source("someone/rows", None) == "someone/rows"
    for rows in ("", "rows.jsonl", "/home/me/rows", "./rows"):
        with pytest.raises(BadInputError, match=r"ships no rows: name .* by --data-dir"):
            find_source(rows, None)
