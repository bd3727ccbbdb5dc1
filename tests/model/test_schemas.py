"""docs/schema/ is what the records are; `make schemas` writes it anew."""

import ast
from pathlib import Path

from hfr_bench.model.schemas import RECORDS, rendered, write

REPO = Path(__file__).parents[2]
SCHEMAS = REPO / "docs" / "schema"


def test_the_written_schemas_are_those_of_the_records():
    there = {path.name: path.read_text() for path in SCHEMAS.glob("*.json")}
    assert there.keys() == rendered().keys(), "make schemas"
    assert [name for name, text in rendered().items() if there[name] != text] == [], "make schemas"


def test_what_is_no_longer_made_is_removed(tmp_path):
    (tmp_path / "old.schema.json").write_text("{}")
    write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == rendered().keys()


def test_every_record_that_something_reads_from_a_file_has_one():
    """Whatever the package loads as a whole must be among them, or within one of them."""
    loaded = {
        node.value.id
        for path in (REPO / "hfr_bench").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "loads"
        if isinstance(node.value, ast.Name) and node.value.id[0].isupper()
    }
    assert loaded
    assert loaded <= {record.__name__ for _, record in RECORDS.values()}
