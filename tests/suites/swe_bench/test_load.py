"""Every kind of source gives the same tasks, and says where a row is that cannot be used."""

import json

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench.load import HUB_NAMES, from_hub, load


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


@pytest.fixture
def two(row):
    return [row(), row(instance_id="hfr__slug-2", FAIL_TO_PASS=["a"])]


def ids(found):
    return [instance.id for instance in found]


def test_lines(tmp_path, two):
    found = load(write_jsonl(tmp_path / "a.jsonl", two))
    assert ids(found) == ["hfr__slug-1", "hfr__slug-2"]
    assert found[1].where == f"{tmp_path / 'a.jsonl'}:2"


@pytest.mark.parametrize("by_id", [True, False])
def test_json(tmp_path, two, by_id):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({r["instance_id"]: r for r in two} if by_id else two))
    assert ids(load(path)) == ["hfr__slug-1", "hfr__slug-2"]


def test_chosen_ones_come_in_the_order_asked_for(tmp_path, two):
    path = write_jsonl(tmp_path / "a.jsonl", two)
    assert ids(load(path, ["hfr__slug-2", "hfr__slug-1"])) == ["hfr__slug-2", "hfr__slug-1"]


def test_a_broken_row_matters_only_where_it_is_wanted(tmp_path, two):
    path = write_jsonl(tmp_path / "a.jsonl", [*two, {"instance_id": "agent-only", "repo": "a/b"}])
    assert len(load(path, ["hfr__slug-1"])) == 1
    with pytest.raises(BadInputError, match=r"a.jsonl:3 \(agent-only\): .*FAIL_TO_PASS is missing"):
        load(path)


def test_of_many_broken_rows_five_are_shown(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"instance_id": f"x-{n}"} for n in range(8)])
    with pytest.raises(BadInputError, match=r"and 3 more$") as error:
        load(path)
    assert len(str(error.value).splitlines()) == 6


def test_unknown_and_double_ids(tmp_path, two):
    path = write_jsonl(tmp_path / "a.jsonl", two)
    with pytest.raises(BadInputError, match=r"no task nope among 2, such as hfr__slug-1"):
        load(path, ["nope"])
    write_jsonl(path, [*two, two[0]])
    with pytest.raises(BadInputError, match=r"a.jsonl:3: hfr__slug-1 is there already, at .*:1"):
        load(path)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", "{\n", r"a.jsonl:1: not JSON"),
        ("a.jsonl", "\n[1]\n", r"a.jsonl:2: not an object, list"),
        ("a.json", "{", r"a.json: not JSON"),
        ("a.json", "1", r"a.json: expected a list of rows"),
        ("a.json", "[1]", r"a.json: row 0: not a mapping, int"),
        ("a.csv", "x", r"a.csv: rows are read from .jsonl, .json, .parquet, .arrow or a folder"),
    ],
)
def test_unreadable_files(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInputError, match=said):
        load(tmp_path / name)


def test_files_and_folders_that_are_not_there(tmp_path):
    with pytest.raises(BadInputError, match=r"nowhere.jsonl: no such file"):
        load(tmp_path / "nowhere.jsonl")
    with pytest.raises(BadInputError, match=r"neither a task repository .* nor a saved dataset"):
        load(tmp_path)


def test_the_hub(two):
    asked = []

    def hub(name, split, revision):
        asked.append((name, split, revision))
        return two

    found = load("Lite", split="dev", revision="abc", hub=hub)
    assert asked == [(HUB_NAMES["lite"], "dev", "abc")]
    assert found[0].where == "SWE-bench/SWE-bench_Lite[dev]: row 0"
    load("me/mine", hub=hub)
    assert asked[1][0] == "me/mine"


def test_the_hub_without_its_library(tmp_path, monkeypatch):
    (tmp_path / "datasets.py").write_text("raise ModuleNotFoundError('x', name='datasets')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInputError, match=r"takes the library datasets: pip install 'hfr-bench"):
        from_hub("lite", "test", None)


def test_a_hub_that_refuses(tmp_path, monkeypatch):
    (tmp_path / "datasets.py").write_text(
        "def load_dataset(name, split, revision):\n    raise ConnectionError('no network')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "datasets", raising=False)
    with pytest.raises(BadInputError, match=r"\(ConnectionError: no network\); without a network"):
        from_hub("lite", "test", None)
    monkeypatch.delitem(__import__("sys").modules, "datasets", raising=False)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrow-file"])
def test_columns(tmp_path, two, kind):
    pa = pytest.importorskip("pyarrow", reason="columns need pyarrow: the extra swe-bench")
    for each in two:
        each["FAIL_TO_PASS"] = json.dumps(["a"])
    table = pa.Table.from_pylist(two)
    path = tmp_path / f"test.{kind.partition('-')[0]}"
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        opened = pa.ipc.new_stream if kind == "arrow" else pa.ipc.new_file
        with path.open("wb") as file, opened(file, table.schema) as writer:
            writer.write_table(table)
    assert ids(load(path)) == ids(load(tmp_path)) == ["hfr__slug-1", "hfr__slug-2"]


def test_a_folder_that_holds_the_same_rows_twice(tmp_path, two):
    pa = pytest.importorskip("pyarrow", reason="columns need pyarrow: the extra swe-bench")
    for each in two:
        each["FAIL_TO_PASS"] = json.dumps(["a"])
    table = pa.Table.from_pylist(two)
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "test-0.parquet")
    with (
        (tmp_path / "cache.arrow").open("wb") as file,
        pa.ipc.new_stream(file, table.schema) as writer,
    ):
        writer.write_table(table)
    assert len(load(tmp_path)) == 2


def test_columns_that_are_none(tmp_path):
    pytest.importorskip("pyarrow", reason="columns need pyarrow: the extra swe-bench")
    for name in ("a.parquet", "a.arrow"):
        (tmp_path / name).write_text("no")
        with pytest.raises(BadInputError, match=f"{name}: not readable as"):
            load(tmp_path / name)


def make_task_repo(folder, row):
    task = folder / "tasks" / row["instance_id"]
    task.mkdir(parents=True)
    short = {k: row[k] for k in ("instance_id", "repo", "version", "base_commit")}
    short |= {"image": "x:1", "log_parser": "parse_log_pytest", "eval_type": "pass_and_fail"}
    (task / "task.yaml").write_text("".join(f'{k}: "{v}"\n' for k, v in short.items()))
    (task / "gold.patch").write_bytes(row["patch"].encode() + b"+x\r\n")
    (task / "test.patch").write_text(row["test_patch"])
    (task / "eval.sh").write_text("#!/bin/bash\n")
    (task / "problem_statement.md").write_text("?")
    (task / "tests.json").write_text(json.dumps({"FAIL_TO_PASS": ["a"], "PASS_TO_PASS": []}))
    return task


def test_a_task_repository(tmp_path, row):
    task = make_task_repo(tmp_path, row())
    (found,) = load(tmp_path)
    assert found.baked is not None
    assert found.gold.patch.endswith("+x\r\n"), "a patch keeps its own line ends"
    assert found.where == str(task)
    (task / "task.yaml").write_text('instance_id: "other"\n')
    with pytest.raises(BadInputError, match=r"instance_id is 'other', the folder is 'hfr__slug-1'"):
        load(tmp_path)
    (task / "eval.sh").unlink()
    with pytest.raises(BadInputError, match=r"eval.sh: no such file, a task needs it"):
        load(tmp_path)


def test_real_rows(real_rows):
    lite = load(real_rows / "lite.jsonl")
    assert len(lite) == 300
    assert sum(len(i.gold.pass_to_pass) == 0 for i in lite) == 6
    assert all(i.baked is None for i in lite)
    verified = load(real_rows / "verified_50.jsonl")
    assert {i.problem.difficulty for i in verified} <= {
        "<15 min fix",
        "15 min - 1 hour",
        "1-4 hours",
        ">4 hours",
    }
