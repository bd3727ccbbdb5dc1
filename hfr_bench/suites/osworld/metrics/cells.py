"""A cell as upstream reads it from a workbook's own XML, and what openpyxl says of its looks.

The XML is read as upstream reads it, oddities and all: a sheet's file is found by its sheetId, a
truth value is None, and blanks around a number or an inline text do not count.
"""

import zipfile
from collections.abc import Mapping
from typing import Any

from openpyxl.cell.cell import MergedCell
from openpyxl.worksheet.cell_range import MultiCellRange

from hfr_bench.suites.osworld.metrics.matching import fits
from hfr_bench.suites.osworld.metrics.xml import MalformedError, parse

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
FONTS = ("name", "family", "bold", "italic", "underline", "size")
LOOKS = (
    *(f"font_{name}" for name in FONTS),
    *("font_color", "number_format", "fill_type", "bgcolor", "fgcolor", "hyperlink", "merge"),
)


def cell_value(path: str, sheet: str, coordinate: str) -> Any:
    """A cell's stored value: float, text, or None. Raises TypeError: a formula without a result."""
    try:
        with zipfile.ZipFile(path) as book:
            shared = _shared(book)
            ids = {
                item.get("name"): item.get("sheetId")
                for item in parse(book.read("xl/workbook.xml")).iter(f"{_MAIN}sheet")
            }
            tree = parse(book.read(f"xl/worksheets/sheet{ids[sheet]}.xml"))
    except (OSError, KeyError, zipfile.BadZipFile, MalformedError):
        return None
    cells = (cell for row in tree.iter(f"{_MAIN}row") for cell in row.iter(f"{_MAIN}c"))
    cell = next((cell for cell in cells if cell.get("r") == coordinate), None)
    return None if cell is None else _value(cell, shared)


def _shared(book: zipfile.ZipFile) -> list[str]:
    try:
        tree = parse(book.read("xl/sharedStrings.xml"))
    except (KeyError, MalformedError):
        return []
    items = tree.iter(f"{_MAIN}si")
    return ["".join(text.text or "" for text in item.iter(f"{_MAIN}t")) for item in items]


def _value(cell: Any, shared: list[str]) -> Any:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        part = cell.find(f"{_MAIN}is/{_MAIN}t")
        return None if part is None else _stripped(part)
    stored = cell.find(f"{_MAIN}v")
    if stored is None:
        return None
    try:
        if kind == "n":
            return float(_stripped(stored))  # type: ignore[arg-type]  # the TypeError above
        if kind == "s":
            return shared[int(_stripped(stored))]  # type: ignore[arg-type]  # the same
    except ValueError:
        return None
    return _stripped(stored) if kind in {"str", "e"} else None


def _stripped(element: Any) -> str | None:
    return (element.text or "").strip() or None


def look(name: str, cell: Any) -> Any:
    """A property of LOOKS of openpyxl's cell. Raises AttributeError: the cell has none."""
    if name == "merge":
        return isinstance(cell, MergedCell)
    if name == "fill_type":
        return getattr(cell.fill, "tagname", None)
    if name in {"bgcolor", "fgcolor"}:
        return cell.fill.fgColor.rgb
    if cell.value is None:
        return None
    if name == "number_format":
        return cell.number_format if cell.data_type == "n" else None
    if name == "hyperlink":
        return cell.hyperlink or ""
    if name == "font_color":
        return cell.font.color.rgb
    return getattr(cell.font, name.removeprefix("font_"))


def fits_cell(value: Any, rule: Mapping[str, Any]) -> bool:
    """As `fits`, and `spreadsheet_range`: ranges that hold all of the first, within the second."""
    if rule["method"] != "spreadsheet_range":
        return fits(value, rule)
    least, most = (MultiCellRange(ref) for ref in rule["ref"])
    return all(part in value for part in least) and all(part in most for part in value)
