"""Fault kinds and matrices as shipped, and files that are wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.mixes import check
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.terms import Layer

LAYER_POINTS = {
    Layer.MODEL: ("model:",),
    Layer.TOOL: ("tool:", "prepare:", "reconcile:", "verify:", "ledger:", "web:", "site:"),
    Layer.ENVIRONMENT: ("tool:",),
    Layer.SEMANTIC: ("tool:", "web:"),
}


def test_every_shipped_kind_is_whole() -> None:
    kinds = content.kinds()
    assert kinds
    for name, spec in kinds.items():
        assert (content.root() / "injectors" / "kinds" / f"{name}.yaml").is_file()
        assert spec.title
        assert spec.wire
        assert spec.observation_points
        assert all(point.startswith(LAYER_POINTS[spec.layer]) for point in spec.points)
        assert sum(weight for weight, _ in spec.lasts) == pytest.approx(1)


def test_every_shipped_matrix_uses_kinds_that_are_there() -> None:
    folder = content.root() / "injectors" / "matrices"
    names = [path.stem for path in folder.glob("*.yaml")]
    assert "stress" in names
    for name in names:
        matrix = content.matrix(name)
        assert matrix.name == name
        for mix in matrix.mixes:
            assert set(mix.kinds) <= set(content.kinds())


def test_every_shipped_mix_is_sourced_and_names_kinds_that_are_there() -> None:
    mixes = content.mixes()
    assert set(mixes) >= {"llm_api_outages", "burstgpt_requests"}
    for name, mix in mixes.items():
        assert mix.name == name
        check(mix, content.kinds(), name)
        assert mix.title
        assert mix.not_known
        assert mix.source is not None
        for told in ("title", "authors", "year", "id", "where", "read", "figures"):
            assert getattr(mix.source, told), f"{name}: {told}"


def test_a_mix_is_found_by_name_or_file_and_else_told(tmp_path: Path) -> None:
    assert content.mix("burstgpt_requests").name == "burstgpt_requests"
    file = content.root() / "injectors" / "mixes" / "llm_api_outages.yaml"
    assert content.mix(str(file)) == content.mix("llm_api_outages")
    with pytest.raises(BadInputError, match=r"unknown fault mix 'x'; shipped are: burstgpt"):
        content.mix("x")
    with pytest.raises(BadInputError, match="no such file"):
        content.mix(str(tmp_path / "x.yaml"))


def test_an_unknown_matrix_lists_what_there_is() -> None:
    with pytest.raises(BadInputError, match=r"unknown fault matrix 'strss'; there are: .*stress"):
        content.matrix("strss")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("kind: [", "not readable as YAML"),
        ("- a\n- b\n", "expected a mapping at top level, got list"),
        ("", "expected a mapping at top level, got NoneType"),
        ("kind: x\nlayer: model\nwhire: {}\n", "whire: unknown key"),
        ("kind: x\nlayer: moddel\n", "layer: Input should be"),
        ("layer: model\n", "kind: Field required"),
        ("a: !!python/object/apply:os.getcwd []\n", "not readable as YAML"),
    ],
)
def test_a_wrong_file_is_told_by_place_and_cause(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "kind.yaml"
    path.write_text(text)
    with pytest.raises(BadInputError) as caught:
        content.read_record(path, KindSpec)
    assert str(caught.value).startswith(f"{path}: ")
    assert what in str(caught.value)


def test_every_wrong_key_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.write_text("nme: x\nmixes: [{points: [a], kinds: {k: heavy}}]\n")
    with pytest.raises(BadInputError) as caught:
        content.read_record(path, FaultMatrix)
    for part in ("name: Field required", "nme: unknown key", "mixes.0.kinds.k: Input should be"):
        assert part in str(caught.value)


def test_what_is_no_number_is_told_by_place(tmp_path: Path) -> None:
    path = tmp_path / "kind.yaml"
    path.write_text("kind: x\nlands: .nan\nwire: {tool: [1, {stall_s: -.inf}]}\n")
    with pytest.raises(BadInputError) as error:
        content.read_record(path, KindSpec)
    assert str(error.value) == f"{path}: lands, wire.tool.1.stall_s: must be a finite number"


def test_a_missing_file_and_a_wrong_encoding_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such file"):
        content.read_yaml(tmp_path / "nothing.yaml")
    (tmp_path / "latin.yaml").write_bytes("kind: ü".encode("latin-1"))
    with pytest.raises(BadInputError, match="not readable as YAML"):
        content.read_yaml(tmp_path / "latin.yaml")


def test_the_content_folder_can_be_another_one(tmp_path: Path) -> None:
    folder = tmp_path / "injectors" / "kinds"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("kind: mine\nlayer: tool\n")
    program = "from hfr_bench import content; print(*content.kinds(), content.root())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HFR_BENCH_CONTENT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["mine", str(tmp_path)]


def test_the_digest_of_all_kinds_is_one_and_stable() -> None:
    assert content.kinds_digest() == content.kinds_digest()
    assert len(content.kinds_digest()) == 64


def test_a_key_given_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "prereg.yaml"
    path.write_text("name: a\nseeds: [1]\nseeds: [2]\n")
    with pytest.raises(BadInputError, match=r"(?s)prereg\.yaml.*'seeds' is given twice.*line 3"):
        content.read_yaml(path)
