"""The metric of workbooks: a list of rules, each of which must hold.

A rule names sheets by place or name, of the result (`0`, `RI0`, `RNSheet1`) or of what was
expected (`EI0`, `ENSheet1`). Values are read by pandas, as upstream reads them; what is shown of
them comes from CSV files that lie beside the workbook.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import openpyxl
import pandas as pd
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.cell_range import MultiCellRange

from hfr_bench.suites.osworld.errors import UngradeableError
from hfr_bench.suites.osworld.metrics.cells import cell_value, fits_cell, look
from hfr_bench.suites.osworld.metrics.drawn import charts, pivots
from hfr_bench.suites.osworld.metrics.fuzzy import likeness
from hfr_bench.suites.osworld.metrics.options import TABLE_RULES
from hfr_bench.suites.osworld.metrics.text import Rules, read_lines

_THRESHOLD = 85.0
_ZOOM = 100.0


@dataclass(frozen=True, slots=True)
class Book:
    """A workbook, as openpyxl and as pandas read it."""

    path: str
    styled: Any
    values: Any

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.values.sheet_names]

    @classmethod
    def read(cls, path: str) -> "Book":
        return cls(path, openpyxl.load_workbook(filename=path), pd.ExcelFile(path))

    def close(self) -> None:
        self.values.close()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet that a rule names; "" of a place that there is not."""

    book: Book
    name: str

    @property
    def styled(self) -> Any:
        """The sheet of openpyxl, or None."""
        return self.book.styled[self.name] if self.name in self.book.styled.sheetnames else None

    @property
    def table(self) -> Any:
        """The table of pandas, or None."""
        if self.name not in self.book.names:
            return None
        return pd.read_excel(self.book.values, sheet_name=self.name)

    @property
    def printed(self) -> list[str] | None:
        """The lines that the sheet's CSV file shows, or None."""
        beside = f"{self.book.path.removesuffix('.xlsx')}-{self.name}.csv"
        try:
            lines = read_lines(beside)
        except OSError:
            return None
        lines = [line.strip() for line in lines]
        while lines and not lines[-1]:
            lines.pop()
        return lines


@dataclass(frozen=True, slots=True)
class Books:
    """The result, and what was expected if the task says."""

    result: Book
    expected: Book | None

    def sheet(self, index: int | str) -> Sheet:
        """Raises UngradeableError: the rule names no sheet, or there is nothing expected."""
        if isinstance(index, int):
            index = f"RI{index}"
        book = {"R": self.result, "E": self.expected}.get(index[:1])
        if book is None or index[1:2] not in {"I", "N"}:
            raise UngradeableError(f"compare_table: {index!r} names no sheet")
        if index[1] == "N":
            return Sheet(book, index[2:])
        place = int(index[2:])
        return Sheet(book, book.names[place] if place < len(book.names) else "")

    def two(self, rule: Rules) -> tuple[Sheet, Sheet]:
        return self.sheet(rule["sheet_idx0"]), self.sheet(rule["sheet_idx1"])


def compare_table(result: str | None, expected: str | None = None, **options: Any) -> float:
    """Whether all `rules` hold. A result that cannot be read is 0."""
    if result is None or not Path(result).exists():
        return 0.0
    with ExitStack() as opened:
        try:
            book = opened.enter_context(closing(Book.read(result)))
        except Exception:  # noqa: BLE001 - whatever the agent has left there
            return 0.0
        gold = None
        if expected is not None:
            gold = opened.enter_context(closing(Book.read(expected)))
        books = Books(book, gold)
        return float(all(RULES[rule["type"]](books, rule) for rule in options["rules"]))


def compare_conference_city_in_order(result: str, rules: Rules) -> float:
    """Whether C2 to C22 hold the places of `expected`, in order; a list names those allowed."""
    sheet = openpyxl.load_workbook(result).active
    found = [sheet.cell(row, 3).value for row in range(2, 23)]
    try:
        pairs = [(rules["expected"][place], city) for place, city in enumerate(found)]
        return float(all(_names(wanted, city) for wanted, city in pairs))
    except (TypeError, IndexError):
        return 0.0


def _names(wanted: str | list[str], city: str) -> bool:
    return any(name in city for name in ([wanted] if isinstance(wanted, str) else wanted))


def _sheet_name(books: Books, _: Rules) -> bool:
    return books.expected is not None and books.result.names == books.expected.names


def _sheet_data(books: Books, rule: Rules) -> bool:
    one, other = (sheet.table for sheet in books.two(rule))
    if one is None:
        return False
    digits = rule.get("precision", 4)
    return bool(one.round(digits).equals(other.round(digits)))


def _sheet_print(books: Books, rule: Rules) -> bool:
    one, other = (sheet.printed for sheet in books.two(rule))
    if one is None or other is None:
        return False
    if rule.get("ignore_case", False):
        return [line.lower() for line in one] == [line.lower() for line in other]
    return one == other


def _sheet_fuzzy(books: Books, rule: Rules) -> bool:
    one, other = books.two(rule)
    for part in rule["rules"]:
        for cells in MultiCellRange(part["range"]):
            for row, column in cells.cells:
                at = f"{get_column_letter(column)}{row}"
                values = [
                    _plain(str(cell_value(sheet.book.path, sheet.name, at)), part)
                    for sheet in (one, other)
                ]
                if not _alike(values[0], values[1], part):
                    return False
    return True


def _plain(value: str, part: Rules) -> str:
    for old, new in part.get("normalization", []):
        value = value.replace(old, new)
    if "trim_leadings" in part:
        value = value.lstrip(part["trim_leadings"])
    if "trim_trailings" in part:
        value = value.rstrip(part["trim_trailings"])
    dropped = set(part.get("ignore_chars", ""))
    value = "".join(char for char in value if char not in dropped)
    return value.lower() if part.get("ignore_case", False) else value


def _alike(one: str, other: str, part: Rules) -> bool:
    kind = part["type"]
    if kind == "includes":
        return other in one
    if kind == "included_by":
        return one in other
    if kind == "fuzzy_match":
        return likeness(one, other) * 100 >= float(part.get("threshold", _THRESHOLD))
    if kind == "exact_match":
        return one == other
    raise UngradeableError(f"sheet_fuzzy: no type {kind!r}")


def _chart(books: Books, rule: Rules) -> bool:
    one, other = (charts(sheet.styled, rule.get("chart_props", ())) for sheet in books.two(rule))
    return one == other


def _pivot_table(books: Books, rule: Rules) -> bool:
    one, other = (pivots(sheet.styled, rule.get("pivot_props", ())) for sheet in books.two(rule))
    return one == other


def _freeze(books: Books, rule: Rules) -> bool:
    one, other = (sheet.styled for sheet in books.two(rule))
    return one is not None and bool(one.freeze_panes == other.freeze_panes)


def _zoom(books: Books, rule: Rules) -> bool:
    sheet = books.sheet(rule["sheet_idx"]).styled
    return sheet is not None and fits_cell(sheet.sheet_view.zoomScale or _ZOOM, rule)


def _data_validation(books: Books, rule: Rules) -> bool:
    sheet = books.sheet(rule["sheet_idx"]).styled
    if sheet is None:
        return False
    found = sheet.data_validations.dataValidation

    def allowed(one: Any) -> bool:
        return any(
            all(fits_cell(getattr(one, name), wanted) for name, wanted in props.items())
            for props in rule["dv_props"]
        )

    return len(found) >= len(rule["dv_props"]) and all(allowed(one) for one in found)


def _sizes(kind: str) -> Callable[[Books, Rules], bool]:
    def held(books: Books, rule: Rules) -> bool:
        def read(sheet: Sheet) -> dict[Any, dict[str, Any]]:
            if sheet.styled is None:
                return {}
            items = getattr(sheet.styled, f"{kind}_dimensions").items()
            return {at: {p: getattr(one, p) for p in rule.get("props", ())} for at, one in items}

        one, other = books.two(rule)
        return read(one) == read(other)

    return held


def _check_cell(books: Books, rule: Rules) -> bool:
    sheet = books.sheet(rule["sheet_idx"])
    if sheet.styled is None:
        return False
    cell = sheet.styled[rule["coordinate"]]
    try:
        for name, wanted in rule["props"].items():
            if not fits_cell(_seen(sheet, cell, name), wanted):
                return False
    except UngradeableError:
        raise
    except Exception:  # noqa: BLE001 - upstream: whatever goes wrong in a cell is a 0
        return False
    return True


def _seen(sheet: Sheet, cell: Any, name: str) -> Any:
    try:
        if name == "value":
            return cell_value(sheet.book.path, sheet.name, cell.coordinate)
        return look(name, cell)
    except (AttributeError, TypeError, IndexError):
        return None


RULES: Mapping[str, Callable[[Books, Rules], bool]] = MappingProxyType(
    {
        "sheet_name": _sheet_name,
        "sheet_data": _sheet_data,
        "sheet_print": _sheet_print,
        "sheet_fuzzy": _sheet_fuzzy,
        "chart": _chart,
        "pivot_table": _pivot_table,
        "freeze": _freeze,
        "zoom": _zoom,
        "data_validation": _data_validation,
        "row_props": _sizes("row"),
        "col_props": _sizes("column"),
        "check_cell": _check_cell,
    }
)
assert set(RULES) == TABLE_RULES
