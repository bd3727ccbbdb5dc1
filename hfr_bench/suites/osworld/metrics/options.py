"""Which options of a metric are carried out; the others are named before a run."""

from collections.abc import Mapping
from typing import Any

TABLE_RULES = frozenset(
    (
        *("sheet_name", "sheet_data", "sheet_print", "sheet_fuzzy", "chart", "pivot_table"),
        *("freeze", "zoom", "data_validation", "row_props", "col_props", "check_cell"),
    )
)
"""Of upstream's rules these lack: style, sparkline, filter."""

ARCHIVED = frozenset(("text", "csv", "docx", "ppt", "image", "table"))
"""What compare_archive compares; upstream's pdf, audio and video are not there."""


def lacks_nothing(_: Mapping[str, Any]) -> tuple[str, ...]:
    """All options are carried out."""
    return ()


def table_lacks(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The kinds of rule of compare_table that are not carried out."""
    kinds = dict.fromkeys(str(rule.get("type")) for rule in options.get("rules", []))
    return tuple(f"rule {kind!r}" for kind in kinds if kind not in TABLE_RULES)


def archive_lacks(options: Mapping[str, Any]) -> tuple[str, ...]:
    """A kind of file that compare_archive does not compare."""
    kind = options.get("file_type", "text")
    own = () if kind in ARCHIVED else (f"file_type {kind!r}",)
    return own + (table_lacks(options) if kind == "table" else ())
