"""A user's checkout is found, and what is wrong with it is told with its place."""

from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.agentbench.source import ROOT, checkout, json_lines, json_objects


def test_the_folder_that_is_given_goes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, named = tmp_path / "a", tmp_path / "b"
    for folder in (given, named):
        (folder / "data").mkdir(parents=True)
    monkeypatch.setenv(ROOT, str(named))
    assert checkout("dbbench", given) == given
    assert checkout("dbbench", None) == named


def test_without_one_it_is_told_how_to_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ROOT, raising=False)
    with pytest.raises(BadInputError, match=r"--data-dir dbbench=DIR or .*db_mini"):
        checkout("dbbench", None)
    with pytest.raises(BadInputError, match="os_mini"):
        checkout("os_interaction", None)
    with pytest.raises(BadInputError, match="no folder `data` in it"):
        checkout("dbbench", tmp_path)


def test_lines_and_lists_are_read_with_their_places(tmp_path: Path) -> None:
    lines, listed, single = (tmp_path / name for name in ("a.jsonl", "b.json", "c.json"))
    lines.write_text('{"a": 1}\n\n{"a": 2}\n')
    listed.write_text('[{"a": 1}, {"a": 2}]')
    single.write_text('{"a": 1}')
    assert list(json_lines(lines)) == [(f"{lines}:1", {"a": 1}), (f"{lines}:3", {"a": 2})]
    assert [where for where, _ in json_objects(listed)] == [f"{listed}[0]", f"{listed}[1]"]
    assert list(json_objects(single)) == [(f"{single}[0]", {"a": 1})]


@pytest.mark.parametrize(
    ("text", "said"), [("{", "x.jsonl:1: no JSON"), ("[1]", "x.jsonl:1: an object is expected")]
)
def test_a_line_that_is_none_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(BadInputError, match=said):
        list(json_lines(path))
    with pytest.raises(BadInputError, match="cannot be read"):
        list(json_lines(tmp_path / "none"))
