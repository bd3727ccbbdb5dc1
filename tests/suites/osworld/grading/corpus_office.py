"""Documents and workbooks, each in variants that differ in one thing."""

import io
import zipfile

import docx
import openpyxl
from docx.enum.text import WD_BREAK, WD_PARAGRAPH_ALIGNMENT
from docx.shared import Pt
from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.datavalidation import DataValidation
from PIL import Image

DOCUMENT_OPTIONS = {
    "": {},
    "blanks": {"ignore_blanks": False},
    "case": {"ignore_case": True},
    "order": {"ignore_order": True, "ignore_blanks": False},
    "content": {"content_only": True, "ignore_case": True},
    "fuzzy": {"fuzzy_match": True},
    "lines": {"fuzzy_match": True, "ignore_blanks": False, "delete_empty_lines": True},
    "full": {"delete_empty_lines": True, "ignore_blanks": False},
}
DOCUMENT_METRICS = (
    "compare_docx_files_and_ignore_new_lines",
    "compare_docx_lines",
    "compare_docx_tables",
    "compare_docx_images",
    "compare_line_spacing",
    "compare_subscript_contains",
    "check_italic_font_size_14",
    "evaluate_strike_through_last_paragraph",
)
DOCUMENT_ALONE = {
    "compare_font_names": {"arial": {"font_name": "Arial"}, "none": {"font_name": None}},
    "contains_page_break": {"any": {}, "one": {"page_break_count": 1}},
    "has_page_numbers_in_footers": {"": None},
    "is_first_line_centered": {"": None},
}


def changed(folder, suffix, make, changes, every):
    """A file a change, or every so many-th; made once."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}{suffix}" for name in list(changes)[::every]}
    for name, path in files.items():
        if not path.exists():
            made = make(name)
            changes[name](made)
            made.save(path)
    return {name: str(path) for name, path in files.items()}


def _document(_):
    made = docx.Document()
    made.add_paragraph("First line")
    made.add_paragraph("Second  line with Words")
    made.add_paragraph("")
    last = made.add_paragraph("")
    last.add_run("last ").italic = True
    last.add_run("run").font.name = "Arial"
    table = made.add_table(rows=2, cols=2)
    for place, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {place}"
    return made


def _said(made, paragraph, text):
    made.paragraphs[paragraph].runs[0].text = text


def _footer(made, text):
    made.sections[0].footer.paragraphs[0].text = text


def _strike(made):
    for run in made.paragraphs[-1].runs:
        run.font.strike = True


def _arial(made):
    for run in (run for paragraph in made.paragraphs for run in paragraph.runs):
        run.font.name = "Arial"


def _picture(made):
    kept = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(kept, "png")
    made.add_picture(io.BytesIO(kept.getvalue()))


def documents(folder, every=1):
    """Variants of a .docx; the first is the base."""
    found = changed(
        folder / "docx",
        ".docx",
        _document,
        {
            "base": lambda made: None,
            "blank": lambda made: setattr(
                made.paragraphs[1].runs[0], "text", "Second line with Words"
            ),
            "case": lambda made: setattr(
                made.paragraphs[1].runs[0], "text", "second  line with words"
            ),
            "word": lambda made: setattr(made.paragraphs[0].runs[0], "text", "First lime"),
            "more": lambda made: made.add_paragraph("more"),
            "empty": lambda made: made.add_paragraph(""),
            "order": lambda made: made.paragraphs[1]._p.addnext(made.paragraphs[0]._p),
            "cell": lambda made: setattr(made.tables[0].cell(1, 1), "text", "other"),
            "padded": lambda made: setattr(made.tables[0].cell(1, 1), "text", " cell 3 "),
            "row": lambda made: made.tables[0].add_row(),
            "spaced": lambda made: setattr(
                made.paragraphs[0].paragraph_format, "line_spacing", 2.0
            ),
            "centred": lambda made: setattr(
                made.paragraphs[0].paragraph_format, "alignment", WD_PARAGRAPH_ALIGNMENT.CENTER
            ),
            "broken": lambda made: made.paragraphs[0].add_run().add_break(WD_BREAK.PAGE),
            "line": lambda made: made.paragraphs[0].add_run().add_break(),
            "sub": lambda made: setattr(made.paragraphs[3].runs[1].font, "subscript", True),
            "big": lambda made: setattr(made.paragraphs[3].runs[0].font, "size", Pt(14)),
            "struck": _strike,
            "arial": _arial,
            "page": lambda made: _footer(made, "Page 1"),
            "footer": lambda made: _footer(made, "no number"),
            "image": _picture,
        },
        every,
    )
    junk = folder / "docx" / "junk.docx"
    junk.write_bytes(b"no document")
    return found | {"junk": str(junk), "none": str(folder / "docx" / "none.docx")}


_ODT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 office:version="1.2"><office:body><office:text>{body}</office:text></office:body>
</office:document-content>"""
_MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">
<manifest:file-entry manifest:full-path="/"
 manifest:media-type="application/vnd.oasis.opendocument.text"/>
<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>
</manifest:manifest>"""


def odts(folder):
    """Variants of an .odt."""
    bodies = {
        "odt": "<text:h>Head</text:h><text:p>One <text:span>two</text:span> three</text:p>"
        "<text:p/><text:p>Four</text:p>",
        "odt-flat": "<text:p>One two three</text:p><text:p/><text:p>Four</text:p>",
        "odt-deep": "<text:p>One <text:span><text:span>two</text:span></text:span> three</text:p>"
        "<text:p/><text:p>Four</text:p>",
        "odt-case": "<text:p>ONE two three</text:p><text:p/><text:p>Four</text:p>",
        "odt-order": "<text:p>Four</text:p><text:p/><text:p>One two three</text:p>",
        "odt-s": "<text:p>One <text:s/>two three</text:p><text:p/><text:p>Four</text:p>",
    }
    (folder / "odt").mkdir(parents=True, exist_ok=True)
    for name, body in bodies.items():
        with zipfile.ZipFile(folder / "odt" / f"{name}.odt", "w") as archive:
            archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
            archive.writestr("META-INF/manifest.xml", _MANIFEST)
            archive.writestr("content.xml", _ODT.format(body=body))
    return {name: str(folder / "odt" / f"{name}.odt") for name in bodies}


_BOTH = {"sheet_idx0": 0, "sheet_idx1": "EI0"}


def _one(kind, **fields):
    return {"rules": [{"type": kind} | fields]}


def _fuzzy(kind, **fields):
    part = {"range": ["A1:B3", "D2"], "type": kind} | fields
    return _one("sheet_fuzzy", **_BOTH, rules=[part])


def _cell(at, name, method, ref):
    props = {name: {"method": method, "ref": ref}}
    return _one("check_cell", sheet_idx=0, coordinate=at, props=props)


_LISTED = {
    "ranges": {"method": "spreadsheet_range", "ref": ["D2:D3", "D1:D9"]},
    "type": {"method": "eq", "ref": "list"},
    "formula1": {"method": "str_set_eq", "ref": ["a", "b"]},
}
TABLE_OPTIONS = {
    "names": _one("sheet_name"),
    "data": _one("sheet_data", **_BOTH),
    "data0": _one("sheet_data", **_BOTH, precision=0),
    "data1": _one("sheet_data", sheet_idx0="RNData", sheet_idx1="ENData"),
    "data9": _one("sheet_data", sheet_idx0=9, sheet_idx1="EI0"),
    "print": _one("sheet_print", **_BOTH),
    "print-case": _one("sheet_print", **_BOTH, ignore_case=True),
    "includes": _fuzzy("includes", ignore_case=True),
    "included": _fuzzy("included_by", trim_leadings="a", trim_trailings="n"),
    "like": _fuzzy("fuzzy_match", threshold=70, ignore_chars=" ."),
    "exact": _fuzzy("exact_match", normalization=[["bob", "ann"]]),
    "chart": _one("chart", **_BOTH, chart_props=["type", "title", "direction", "legend", "width"]),
    "freeze": _one("freeze", **_BOTH),
    "zoom": _one("zoom", sheet_idx=0, method="eq", ref=100),
    "valid": _one("data_validation", sheet_idx=0, dv_props=[_LISTED]),
    "rows": _one("row_props", **_BOTH, props=["hidden", "height"]),
    "columns": _one("col_props", **_BOTH, props=["width", "hidden"]),
    "value": _cell("B2", "value", "eq", 1.25),
    "near": _cell("B2", "value", "approx:0.1", 1.3),
    "text": _cell("A2", "value", "eq", "ann"),
    "formula": _cell("D2", "value", "eq", 1),
    "true": _cell("C2", "value", "eq", True),
    "merged": _cell("B5", "merge", "eq", True),
    "bold": _cell("A1", "font_bold", "eq", True),
    "colour": _cell("A1", "font_color", "eq", "FFFF0000"),
    "fill": _cell("A1", "bgcolor", "eq", "FF00FF00"),
    "pivot": _one("pivot_table", **_BOTH, pivot_props=["col_fields", "filter", "data_fields"]),
    "two": {"rules": [{"type": "sheet_name"}, {"type": "freeze"} | _BOTH]},
    "no-sheet": _cell("A1", "value", "eq", 1)
    | {"rules": [{"type": "check_cell", "sheet_idx": "RNnone", "coordinate": "A1", "props": {}}]},
}


def _book(_):
    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = "Data"
    for row in (["name", "n", "ok"], ["ann", 1.25, True], ["bob", 2, False]):
        sheet.append(row)
    sheet["D2"] = 7
    made.create_sheet("Other")["A1"] = "x"
    return made


def _chart(kind, title):
    def change(made):
        sheet, chart = made["Data"], kind()
        chart.title = title
        chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
        chart.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=3))
        sheet.add_chart(chart, "F2")

    return change


def _valid(cells, formula):
    def change(made):
        rule = DataValidation(type="list", formula1=formula)
        rule.add(cells)
        made["Data"].add_data_validation(rule)

    return change


def _set(at, value):
    return lambda made: made["Data"].__setitem__(at, value)


def _styled(made):
    made["Data"]["A1"].font = Font(bold=True, color="FFFF0000")
    made["Data"]["A1"].fill = PatternFill("solid", fgColor="FF00FF00")


def _view(name, value):
    return lambda made: setattr(made["Data"], name, value)


def books(folder, every=1):
    """Variants of an .xlsx, with the CSV file of the first sheet beside some."""
    found = changed(
        folder / "xlsx",
        ".xlsx",
        _book,
        {
            "base": lambda made: None,
            "digit": _set("B2", 1.250001),
            "number": _set("B2", 1.5),
            "case": _set("A2", "Ann"),
            "like": _set("A2", "a nn."),
            "as-text": _set("B3", "2"),
            "na": _set("A3", "NA"),
            "gone": _set("A3", None),
            "formula": _set("D2", "=B2+1"),
            "date": _set("D3", "2024-01-02"),
            "name": lambda made: setattr(made["Other"], "title", "Else"),
            "order": lambda made: made.move_sheet("Other", -1),
            "styled": _styled,
            "merged": lambda made: made["Data"].merge_cells("A5:C5"),
            "frozen": _view("freeze_panes", "B2"),
            "zoomed": lambda made: setattr(made["Data"].sheet_view, "zoomScale", 150),
            "valid": _valid("D2:D5", '"a,b"'),
            "invalid": _valid("D2:D50", '"b,a"'),
            "hidden": lambda made: setattr(made["Data"].row_dimensions[2], "hidden", True),
            "wide": lambda made: setattr(made["Data"].column_dimensions["B"], "width", 30),
            "bars": _chart(BarChart, "Bars"),
            "bars2": _chart(BarChart, "Other"),
            "lines": _chart(LineChart, "Bars"),
        },
        every,
    )
    lines = {
        "base": "name,n\nann,1.25\n\n",
        "digit": " name,n\nann,1.25",
        "case": "name,n\nAnn,1.25",
    }
    for name, text in lines.items():
        (folder / "xlsx" / f"{name}-Data.csv").write_text(text, "utf-8")
    junk = folder / "xlsx" / "junk.xlsx"
    junk.write_bytes(b"no book")
    return found | {"junk": str(junk), "none": str(folder / "xlsx" / "none.xlsx")}


def cities(folder):
    """A list of cities in the third column, whole, in another order, and too short."""
    names = [f"the City {number}" for number in range(21)]
    found = {"whole": names, "order": names[::-1], "short": names[:9]}
    (folder / "cities").mkdir(parents=True, exist_ok=True)
    for label, among in found.items():
        made = openpyxl.Workbook()
        for name in ["city", *among]:
            made.active.append(["", "", name])
        made.save(folder / "cities" / f"{label}.xlsx")
    return {label: str(folder / "cities" / f"{label}.xlsx") for label in found}
