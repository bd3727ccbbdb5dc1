"""The metric of presentations: what two of them must have in common, as options say.

Every `examine_…` is on unless the task says otherwise, but for those of one task each that
compare positions. A shape that only one of two slides has text in is compared in place alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE
from pptx.enum.text import PP_ALIGN

from hfr_bench.suites.osworld.metrics.places import Examined, placed
from hfr_bench.suites.osworld.metrics.xml import parse

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SOLID, _BACKGROUND = 1, 5


@dataclass(frozen=True, slots=True)
class Pair:
    """The same shape of two slides; `number` counts slides from 1."""

    number: int
    one: Any
    other: Any


def compare_pptx_files(result: str, expected: str, **options: Any) -> float:
    """Whether two presentations have in common what is examined."""
    one, other = Presentation(result), Presentation(expected)
    asked = Examined(options)
    if len(one.slides) != len(other.slides) and asked.on("number_of_slides"):
        return 0.0
    slides = zip(one.slides, other.slides, strict=False)
    return float(all(_slide(asked, number, *pair) for number, pair in enumerate(slides, 1)))


def check_slide_orientation_Portrait(result: str) -> float:  # noqa: N802 - upstream's name
    """Whether slides are higher than wide."""
    shown = Presentation(result)
    return float((shown.slide_width or 0) < (shown.slide_height or 0))


def _slide(asked: Examined, number: int, one: Any, other: Any) -> bool:
    if _colour(one) != _colour(other) and asked.on("background_color"):
        return False
    if _notes(one) != _notes(other) and asked.on("note"):
        return False
    texts = [list(_texts(slide.shapes)) for slide in (one, other)]
    if len(one.shapes) != len(other.shapes):
        return False
    pairs = [Pair(number, *shapes) for shapes in zip(one.shapes, other.shapes, strict=True)]
    if asked.on("bullets") and _up_to_runs(pairs) and not _same_bullets(one, other):
        return False
    if not all(_shape(asked, pair) for pair in pairs):
        return False
    if len(texts[0]) != len(texts[1]):
        return False
    grouped = zip(*texts, strict=True)
    return not asked.on("alignment") or all(_grouped(asked, *pair) for pair in grouped)


def _colour(slide: Any) -> Any:
    """The colour behind a slide, if it is one; where it has none of its own, its master's."""
    fill = slide.background.fill
    if fill.type == _BACKGROUND:
        fill = slide.slide_layout.slide_master.background.fill
    return fill.fore_color.rgb if fill.type == _SOLID else None


def _notes(slide: Any) -> str:
    return str(slide.notes_slide.notes_text_frame.text).strip() if slide.has_notes_slide else ""


def _texts(shapes: Any) -> Iterator[Any]:
    """The shapes with text, those in groups as well."""
    for shape in shapes:
        if hasattr(shape, "text") and hasattr(shape, "text_frame"):
            yield shape
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes)


def _shape(asked: Examined, pair: Pair) -> bool:
    one, other = pair.one, pair.other
    if not placed(asked, pair.number, one, other):
        return False
    if one.shape_type == MSO_SHAPE_TYPE.TABLE and not _table(asked, one.table, other.table):
        return False
    if not (hasattr(one, "text") and hasattr(other, "text")):
        return True
    if one.text.strip() != other.text.strip() and asked.on("text"):
        return False
    paragraphs = one.text_frame.paragraphs, other.text_frame.paragraphs
    if len(paragraphs[0]) != len(paragraphs[1]):
        return False
    return all(_paragraph(asked, *two) for two in zip(*paragraphs, strict=True))


def _paragraph(asked: Examined, one: Any, other: Any) -> bool:
    if asked.on("alignment") and not _aligned(one, other):
        return False
    if one.text != other.text and asked.on("text"):
        return False
    if one.level != other.level and asked.on("indent"):
        return False
    if len(one.runs) != len(other.runs):
        return False
    return all(_run(asked, *two) for two in zip(one.runs, other.runs, strict=True))


def _aligned(one: Any, other: Any) -> bool:
    return (one.alignment or PP_ALIGN.LEFT) == (other.alignment or PP_ALIGN.LEFT)


def _run(asked: Examined, one: Any, other: Any) -> bool:
    fonts = one.font, other.font
    for name in ("name", "size"):
        if asked.on(f"font_{name}") and getattr(fonts[0], name) != getattr(fonts[1], name):
            return False
    for name in ("bold", "italic"):
        if asked.on(f"font_{name}") and not _emphasis(fonts, name):
            return False
    if asked.on("color_rgb") and not _coloured(fonts):
        return False
    if asked.on("font_underline") and not _underlined(fonts):
        return False
    return not asked.on("strike_through") or _struck(fonts[0]) == _struck(fonts[1])


def _emphasis(fonts: tuple[Any, Any], name: str) -> bool:
    """Not said and said not to be are alike."""
    return bool(getattr(fonts[0], name)) == bool(getattr(fonts[1], name))


def _coloured(fonts: tuple[Any, Any]) -> bool:
    """A colour of the theme has no value of its own, and is not compared."""
    one, other = (font.color for font in fonts)
    return not (hasattr(one, "rgb") and hasattr(other, "rgb")) or bool(one.rgb == other.rgb)


def _underlined(fonts: tuple[Any, Any]) -> bool:
    one, other = (font.underline for font in fonts)
    if one is None or other is None:
        return not (one is True or other is True)
    return bool(one == other)


def _struck(font: Any) -> str:
    return str(font._element.attrib.get("strike", "noStrike"))  # noqa: SLF001 - nothing public


def _table(asked: Examined, one: Any, other: Any) -> bool:
    sizes = [(len(table.rows), len(table.columns)) for table in (one, other)]
    if sizes[0] != sizes[1]:
        return False
    cells = [(row, column) for row in range(sizes[0][0]) for column in range(sizes[0][1])]
    return all(_cell(asked, one.cell(*at), other.cell(*at)) for at in cells)


def _cell(asked: Examined, one: Any, other: Any) -> bool:
    paragraphs = one.text_frame.paragraphs, other.text_frame.paragraphs
    if len(paragraphs[0]) != len(paragraphs[1]):
        return False
    for left, right in zip(*paragraphs, strict=True):
        if len(left.runs) != len(right.runs):
            return False
        for runs in zip(left.runs, right.runs, strict=True):
            fonts = runs[0].font, runs[1].font
            if asked.on("color_rgb") and not _coloured(fonts):
                return False
            if not (_emphasis(fonts, "bold") and _emphasis(fonts, "italic")):
                return False
            if not _underlined(fonts):
                return False
    return True


def _up_to_runs(pairs: list[Pair]) -> bool:
    """Whether some paragraph has runs on both sides. Asks the level of each up to it.

    Asked for a paragraph's level, python-pptx writes properties where there were none, and upstream
    takes none for another level than the first. It has asked so far when it reads the lists.
    """
    for pair in pairs:
        shapes = pair.one, pair.other
        if not all(hasattr(shape, "text") for shape in shapes):
            continue
        for two in zip(*(shape.text_frame.paragraphs for shape in shapes), strict=False):
            if None not in [paragraph.level for paragraph in two] and two[0].runs and two[1].runs:
                return True
    return False


def _same_bullets(one: Any, other: Any) -> bool:
    """Whether the lists of two slides are alike; what cannot be read is, as upstream has it."""
    try:
        found = [_bullets(slide.part.blob) for slide in (one, other)]
    except TypeError:
        return True
    return found[0] == found[1]


def _bullets(xml: bytes) -> list[tuple[str, str, str]]:
    """(level, bullet, text) of each paragraph with text."""
    found = []
    for paragraph in parse(xml).iter(f"{_A}p"):
        text = "".join(item.text for item in paragraph.iter(f"{_A}t"))
        props = paragraph.find(f"{_A}pPr")
        if props is None:
            level, bullet = "No Level", None
        else:
            level, bullet = props.get("lvl") or "0", props.find(f"{_A}buChar")
        if text.strip():
            mark = "No Bullet" if bullet is None else str(bullet.get("char"))
            found.append((level, mark, text))
    return found


def _grouped(asked: Examined, one: Any, other: Any) -> bool:
    if one.text.strip() != other.text.strip() and asked.on("text"):
        return False
    paragraphs = one.text_frame.paragraphs, other.text_frame.paragraphs
    if len(paragraphs[0]) != len(paragraphs[1]):
        return False
    return all(_aligned(*two) for two in zip(*paragraphs, strict=True))
