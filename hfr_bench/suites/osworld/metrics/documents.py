"""Metrics of text documents: .docx by python-docx, .odt by its own XML."""

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import docx
from docx.enum.text import WD_PARAGRAPH_ALIGNMENT
from PIL import Image

from hfr_bench.suites.osworld.metrics.fuzzy import likeness
from hfr_bench.suites.osworld.metrics.text import Rules
from hfr_bench.suites.osworld.metrics.xml import MalformedError, parse

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"


def _read(path: str) -> Any:
    """A .docx, or None if it cannot be read."""
    try:
        return docx.Document(path)
    except Exception:  # noqa: BLE001 - whatever the agent has left there
        return None


def _both(result: str | None, expected: str | None) -> tuple[Any, Any] | None:
    if not result or not expected:
        return None
    read = (_read(result), _read(expected))
    return None if None in read else read


def _paragraphs(path: str) -> list[str] | None:
    if path.endswith(".docx"):
        read = _read(path)
        return None if read is None else [paragraph.text for paragraph in read.paragraphs]
    try:
        return list(_odt(path))
    except (OSError, KeyError, zipfile.BadZipFile, MalformedError):
        return None


def _odt(path: str) -> Iterator[str]:
    """Paragraphs of the page styles (headers, footers), then of the body; no headings."""
    with zipfile.ZipFile(path) as archive:
        for name, part in (("styles.xml", "master-styles"), ("content.xml", "body")):
            if name not in archive.namelist():
                continue
            tree = parse(archive.read(name))
            for root in tree.iter(_OFFICE + part):
                yield from (_direct(item, spans=True) for item in root.iter(f"{_TEXT}p"))


def _direct(element: Any, *, spans: bool) -> str:
    """The text that stands in an element itself, and (`spans`) in the spans right below it."""
    parts = [element.text or ""]
    for child in element:
        if spans and child.tag == f"{_TEXT}span":
            parts.append(_direct(child, spans=False))
        parts.append(child.tail or "")
    return "".join(parts)


def _one_line(paragraphs: list[str]) -> str:
    return re.sub(r"\s+", " ", "\n".join(paragraphs)).strip()


def compare_docx_files(result: str | None, expected: str | None, **options: Any) -> float:
    """Whether two documents of a kind (.docx, .odt) say the same.

    `ignore_blanks` (True): blanks and line ends are alike; `ignore_case`, `ignore_order` (of
    paragraphs), `delete_empty_lines`; `content_only`, `fuzzy_match`: how alike they are.
    """
    if not result or not expected or result[-4:] != expected[-4:]:
        return 0.0
    if not result.endswith((".docx", ".odt")):
        return 0.0
    texts = [_paragraphs(path) for path in (result, expected)]
    if texts[0] is None or texts[1] is None:
        return 0.0
    one, other = (_wanted(text, options) for text in texts if text is not None)
    if options.get("content_only", False):
        return likeness(_one_line(one), _one_line(other))
    if options.get("ignore_blanks", True):
        one, other = [_one_line(one)], [_one_line(other)]
    if len(one) != len(other):
        return 0.0
    if not options.get("fuzzy_match", False):
        return float(one == other)
    scores = [likeness(*pair) for pair in zip(one, other, strict=True)]
    return sum(scores) / len(scores) if scores else 1.0


def _wanted(paragraphs: list[str], options: Rules) -> list[str]:
    if options.get("ignore_order", False):
        paragraphs = sorted(paragraphs)
    if options.get("delete_empty_lines", False):
        paragraphs = [text for text in paragraphs if text.strip()]
    if options.get("ignore_case", False):
        paragraphs = [text.lower() for text in paragraphs]
    return paragraphs


def compare_docx_files_and_ignore_new_lines(
    result: str | None, expected: str | None, **options: Any
) -> float:
    """Whether two .docx say the same, empty paragraphs apart: `ignore_blanks` (True)."""
    read = _both(result, expected)
    if read is None or not all(str(path).endswith(".docx") for path in (result, expected)):
        return 0.0
    one, other = ([p.text for p in found.paragraphs if p.text] for found in read)
    if options.get("ignore_blanks", True):
        return float(_one_line(one) == _one_line(other))
    return float(one == other)


def compare_docx_lines(result: str | None, expected: str | None) -> float:
    """Whether two .docx have the same paragraphs, in whatever order and number."""
    read = _both(result, expected)
    if read is None:
        return 0.0
    one, other = ({p.text.strip() for p in found.paragraphs} - {""} for found in read)
    return float(one == other)


def compare_docx_tables(result: str | None, expected: str | None) -> float:
    """Whether two .docx have the same tables, blanks around a cell's text apart."""
    read = _both(result, expected)
    if read is None:
        return 0.0
    one, other = ([_cells(table) for table in found.tables] for found in read)
    return float(one == other)


def _cells(table: Any) -> list[list[str]]:
    rows, columns = range(len(table.rows)), range(len(table.columns))
    return [[table.cell(row, column).text.strip() for column in columns] for row in rows]


def compare_docx_images(result: str | None, expected: str | None) -> float:
    """Whether two .docx have the same pictures, in the order of their relations."""
    read = _both(result, expected)
    if read is None:
        return 0.0
    one, other = (_pictures(found) for found in read)
    return float(one == other)


def _pictures(read: Any) -> list[bytes]:
    blobs = [rel.target_part.blob for rel in read.part.rels.values() if "image" in rel.reltype]
    return [Image.open(io.BytesIO(blob)).tobytes() for blob in blobs]


def compare_line_spacing(result: str | None, expected: str | None) -> float:
    """Whether two .docx say the same, with the same spacing of each paragraph."""
    read = _both(result, expected)
    if read is None or not compare_docx_files(result, expected):
        return 0.0
    one, other = ([p.paragraph_format.line_spacing for p in found.paragraphs] for found in read)
    return float(one == other)


def compare_font_names(result: str | None, rules: Rules) -> float:
    """Whether every run of a .docx has the font `font_name`."""
    read = _read(result) if result else None
    if read is None:
        return 0.0
    return float(all(r.font.name == rules["font_name"] for p in read.paragraphs for r in p.runs))


def compare_subscript_contains(result: str | None, expected: str | None) -> float:
    """Whether two .docx have a subscript at the same run of the same paragraph."""
    read = _both(result, expected)
    if read is None:
        return 0.0
    pairs = zip(*(found.paragraphs for found in read), strict=False)
    runs = (pair for one, other in pairs for pair in zip(one.runs, other.runs, strict=False))
    return float(any(one.font.subscript and other.font.subscript for one, other in runs))


def contains_page_break(result: str | None, rules: Rules | None = None) -> float:
    """Whether a .docx has page breaks: as many as `page_break_count` if that is said."""
    read = _read(result) if result else None
    if read is None:
        return 0.0
    runs = (run for paragraph in read.paragraphs for run in paragraph.runs)
    breaks = (br for run in runs for br in run.element.iter(f"{_W}br"))
    count = sum(1 for br in breaks if br.get(f"{_W}type") == "page")
    wanted = (rules or {}).get("page_break_count")
    return float(count > 0 and wanted in {None, count})


def has_page_numbers_in_footers(result: str | None) -> float:
    """Whether the first line of each footer of a .docx has a digit."""
    read = _read(result) if result else None
    if read is None:
        return 0.0
    footers = [section.footer.paragraphs for section in read.sections]
    first = [lines[0].text if lines else "" for lines in footers]
    return float(all(any(char.isdigit() for char in text) for text in first))


def is_first_line_centered(result: str | None) -> float:
    """Whether the first paragraph of a .docx is centred. Raises IndexError: there is none."""
    read = _read(result) if result else None
    if read is None:
        return 0.0
    alignment = read.paragraphs[0].paragraph_format.alignment
    return float(alignment == WD_PARAGRAPH_ALIGNMENT.CENTER)


def check_italic_font_size_14(result: str | None, expected: str | None) -> float:
    """Whether a .docx says what it should, and every slanted run is of 14 points."""
    read = _both(result, expected)
    if read is None or not compare_docx_files(result, expected):
        return 0.0
    runs = (run for paragraph in read[0].paragraphs for run in paragraph.runs if run.italic)
    return float(all(run.font.size is not None and run.font.size.pt == 14 for run in runs))


def evaluate_strike_through_last_paragraph(result: str | None, expected: str | None) -> float:
    """Whether a .docx says what it should, and its last paragraph is struck through."""
    read = _both(result, expected)
    if read is None or not compare_docx_files(result, expected):
        return 0.0
    return float(all(run.font.strike for run in read[0].paragraphs[-1].runs))
