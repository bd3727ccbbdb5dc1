"""Tasks in upstream's format, read strictly."""

from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.agentbench.os_interaction.rows import Match, Script, read_row

ROW: dict[str, Any] = {
    "description": "How many?",
    "create": {"local": "default", "init": ["a", {"language": "python", "code": "b"}]},
    "start": "c",
    "evaluation": {"check": [None, {"file": "check.sh"}], "example": {"code": "d"}},
}


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "check.sh").write_text("e")
    (tmp_path / "secret").write_text("f")
    return folder


def test_scripts_are_texts_codes_or_files(scripts: Path) -> None:
    row = read_row(ROW, "x[0]", scripts)
    assert row.init == (Script("bash", "a"), Script("python", "b"))
    assert row.start == Script("bash", "c")
    assert row.check == (None, Script("bash", "e"))
    assert row.example == Script("bash", "d")
    assert row.answered_by_example


def test_one_script_need_not_be_a_list_and_all_but_the_evaluation_may_be_missing(
    scripts: Path,
) -> None:
    row = read_row({"description": "Do.", "evaluation": {"check": "a"}}, "x[0]", scripts)
    assert (row.init, row.check, row.image) == ((), (Script("bash", "a"),), "default")
    assert not row.answered_by_example
    row = read_row(ROW | {"create": {"init": "a"}}, "x[0]", scripts)
    assert row.init == (Script("bash", "a"),)
    assert read_row(ROW | {"create": [None]}, "x[0]", scripts).init == ()  # one of upstream's


@pytest.mark.parametrize(
    ("match", "read"),
    [
        ("a", Match("a")),
        ({"answer": "a", "strip": False}, Match("a", strip=False)),
        ({"regex": "^a"}, Match(regex="^a", strip=False)),
    ],
)
def test_a_match_goes_before_checks(scripts: Path, match: Any, read: Match) -> None:
    row = read_row(ROW | {"evaluation": {"match": match, "check": "a"}}, "x[0]", scripts)
    assert (row.match, row.check) == (read, ())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"description": ""}, "`description` must be a text"),
        ({"evaluation": {}}, "needs `match` or `check`"),
        ({"evaluation": {"match": 3}}, "`match` must be a text or hold"),
        ({"evaluation": {"check": [None]}}, "asks for an `example`"),
        ({"start": 3}, "a script is a text or an object, not 3"),
        ({"start": {}}, "a script without `file` and `code`"),
        (
            {"start": {"language": "c++", "code": "x"}},
            r"no script in c\+\+; there are: bash, python",
        ),
        ({"start": {"file": "none.sh"}}, "none.sh cannot be read"),
        ({"start": {"file": "../secret"}}, "../secret is outside of"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    scripts: Path, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadInputError, match=rf"x\[0\]: .*{said}"):
        read_row(ROW | change, "x[0]", scripts)


def test_bash_counts_its_words_as_upstream_does() -> None:
    assert Script("bash", "a").argv("1") == ["bash", "-c", "a", "--", "1"]
    assert Script("bash", "a").argv() == ["bash", "-c", "a"]
    assert Script("python", "a").argv("1") == ["python3", "-c", "a", "1"]
