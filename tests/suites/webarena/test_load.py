"""Reading records from a folder, a wheel, a file, an environment; and what to do without."""

import json
import zipfile

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.load import PINNED, PYTHON, load

ROW = {
    "task_id": 3,
    "sites": ["map"],
    "intent": "i",
    "intent_template_id": 1,
    "start_url": "__MAP__",
    "eval": {"eval_types": ["url_match"], "reference_url": "__MAP__"},
}
PATH = PINNED["original"].path


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Makes an environment with a distribution of a version; names its Python."""

    def make(version, name="libwebarena", files=()):
        packages = tmp_path / "lib" / "python3.11" / "site-packages"
        about = packages / f"{name.replace('-', '_')}-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        for path, content in files:
            (packages / path).parent.mkdir(parents=True, exist_ok=True)
            (packages / path).write_text(json.dumps(content))
        monkeypatch.setenv(PYTHON, str(tmp_path / "bin" / "python"))

    return make


def test_a_file_a_folder_and_a_wheel_hold_the_same(tmp_path):
    (tmp_path / "webarena").mkdir()
    file = tmp_path / PATH
    file.write_text(json.dumps([ROW]))
    wheel = tmp_path / "libwebarena-0.0.5-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.write(file, PATH)
    found = [load("original", source) for source in (file, tmp_path, tmp_path / "webarena", wheel)]
    assert {records[0].source_digest for records, _ in found} == {found[0][0][0].source_digest}
    assert {source.sha256 for _, source in found} == {found[0][1].sha256}
    assert not found[0][1].pinned
    assert found[3][1].where.endswith(f".whl!{PATH}")


def test_an_environment_is_read_without_running_it(environment):
    environment("0.0.5", files=[(PATH, [ROW])])
    records, source = load("original")
    assert [record.id for record in records] == [3]
    assert source.version == "0.0.5"


def test_another_version_is_refused(environment):
    environment("0.0.4", files=[(PATH, [ROW])])
    with pytest.raises(BadInputError, match=r"libwebarena 0\.0\.4 .* 0\.0\.5: python3 -m venv"):
        load("original")


def test_an_installation_that_lacks_the_file(environment):
    environment("0.0.5")
    with pytest.raises(BadInputError, match=r"libwebarena lacks .*test\.raw\.json"):
        load("original")


def test_what_is_not_there_says_how_to_get_it(environment):
    environment("1.0", name="something-else")
    with pytest.raises(BadInputError, match=r"--no-deps webarena-verified==1\.2\.3 && export"):
        load("verified")


def test_the_hard_ones_are_ids_of_the_others(tmp_path):
    verified = {
        **{k: v for k, v in ROW.items() if k != "start_url"},
        "start_urls": ["__MAP__"],
        "eval": [
            {
                "evaluator": "AgentResponseEvaluator",
                "results_schema": {"type": "null"},
                "expected": {"task_type": "navigate", "status": "SUCCESS"},
            }
        ],
    }
    for pool, content in (
        ("verified", [verified, {**verified, "task_id": 4}]),
        ("verified-hard", {"task_ids": [4]}),
    ):
        path = tmp_path / PINNED[pool].path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    assert [record.id for record in load("verified-hard", tmp_path)[0]] == [4]
    (tmp_path / PINNED["verified-hard"].path).write_text('{"task_ids": ["4"]}')
    with pytest.raises(BadInputError, match="task_ids, a list of numbers"):
        load("verified-hard", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("{}", "expected a list of records"),
        ("[1]", "record 0: not an object, int"),
        (json.dumps([ROW, ROW]), "record 1: task 3 is there already"),
        (json.dumps([{**ROW, "sites": []}] * 7), "and 2 more"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, content, message):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(BadInputError, match=message):
        load("original", tmp_path / "t.json")


def test_sources_and_ids_that_are_none(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps([ROW]))
    (tmp_path / "t.txt").write_text("x")
    for source, message in (
        (tmp_path / "no.json", "no such file"),
        (tmp_path / "t.txt", "a .json file, a wheel or a folder"),
        (tmp_path, r"holds no webarena/test\.raw\.json"),
    ):
        with pytest.raises(BadInputError, match=message):
            load("original", source)
    with pytest.raises(BadInputError, match=r"no task 9 among 1 \(such as 3\)"):
        load("original", tmp_path / "t.json", [9])
    with pytest.raises(BadInputError, match="no pool 'x': there are original"):
        load("x", tmp_path)
    assert len(load("original", tmp_path / "t.json", [3, 3])[0]) == 1


def test_what_is_installed_is_what_was_counted(packages):
    for pool in PINNED:
        if (packages / PINNED[pool].path).is_file():
            assert load(pool, packages)[1].pinned
