"""What openpyxl knows of a sheet's charts and pivot tables, by where their data comes from."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from openpyxl.utils import coordinate_to_tuple

# openpyxl offers charts and pivots that it has read by no public name.
# ruff: noqa: SLF001


def _title(of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The first run of a title's first paragraph, or None."""

    def read(chart: Any) -> Any:
        try:
            return of(chart).tx.rich.p[0].r[0].t
        except (AttributeError, IndexError, TypeError):
            return None

    return read


def _anchor(chart: Any) -> list[Any]:
    at = chart.anchor
    return [at.editAs, at._from.col, at.to.row, at.to.col, at.to.row]  # upstream: to.row twice


CHART_PROPS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "title": _title(lambda chart: chart.title),
        "xtitle": _title(lambda chart: chart.x_axis.title),
        "ytitle": _title(lambda chart: chart.y_axis.title),
        "ztitle": _title(lambda chart: chart.z_axis.title),
        "legend": lambda chart: None if chart.legend is None else chart.legend.position,
        "anchor": _anchor,
        "width": lambda chart: chart.width,
        "height": lambda chart: chart.height,
        "type": lambda chart: chart.tagname,
        "direction": lambda chart: chart.barDir,
    }
)


def charts(sheet: Any, props: Sequence[str]) -> dict[str, Any]:
    """The wanted properties of each chart of a sheet; None: no sheet, so no charts."""
    if sheet is None:
        return {}
    return {
        ";".join(f"{_source(one.val)},{_source(one.cat)}" for one in chart.series): {
            name: CHART_PROPS[name](chart) for name in props if name in CHART_PROPS
        }
        for chart in sheet._charts
    }


def _source(data: Any) -> str:
    for kind in ("numRef", "strRef"):
        if hasattr(data, kind) and hasattr(getattr(data, kind), "f"):
            return str(getattr(data, kind).f)
    return ""


def pivots(sheet: Any, props: Sequence[str]) -> dict[str, Any]:
    """The wanted properties of each pivot table of a sheet.

    Columns that no item is chosen from, at either end of the source, do not count: a source that
    is wider by them is the same source.
    """
    if sheet is None:
        return {}
    found = {}
    for pivot in sheet._pivots:
        chosen = [
            [(item.h, item.x) for item in field.items if item.x is not None]
            for field in pivot.pivotFields
        ]
        left = next((place for place, items in enumerate(chosen) if items), len(chosen))
        right = next((place for place, items in enumerate(chosen[::-1]) if items), 0)
        found[_pivot_source(pivot, left, right)] = _pivot_info(
            pivot, chosen[left : len(chosen) - right], left, set(props)
        )
    return found


def _pivot_source(pivot: Any, left: int, right: int) -> str:
    source = pivot.cache.cacheSource
    first, last = (coordinate_to_tuple(at) for at in source.worksheetSource.ref.split(":"))
    cells = f"{(first[0], first[1] + left)}:{(last[0], last[1] - right)}"
    return f"{source.type};{cells};{source.worksheetSource.sheet}"


_PIVOT_PLAIN = {
    "name": "name",
    "show_total": "visualTotals",
    "show_empty_row": "showEmptyRow",
    "show_empty_col": "showEmptyCol",
    "show_headers": "showHeaders",
    "location": "location",
}


def _pivot_info(pivot: Any, chosen: list[Any], left: int, props: set[str]) -> dict[str, Any]:
    info = {name: getattr(pivot, field) for name, field in _PIVOT_PLAIN.items() if name in props}
    if props & {"filter", "selection"}:
        info["selection"] = chosen if "ordered" in props else [set(items) for items in chosen]
    if "filter" in props:
        info["filter_fields"] = {field.fld for field in pivot.pageFields}
    if "col_fields" in props:
        info["col_fields"] = [field.x - left for field in pivot.colFields]
    if "row_fields" in props:
        info["row_fields"] = [field.x - left for field in pivot.rowFields]
    if "data_fields" in props:
        named = "data_fields_name" in props
        info["data_fields"] = [
            (field.fld - left, field.name if named else "", field.subtotal, field.showDataAs)
            for field in pivot.dataFields
        ]
    return info
