"""Presentations in variants that differ in one thing, and the options they are compared under."""

import io

from corpus_office import changed
from PIL import Image
from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_UNDERLINE, PP_ALIGN
from pptx.util import Emu, Pt

_ONLY_PLACES = {"examine_shape": False}
OPTIONS = {
    "": {},
    "no-shape": _ONLY_PLACES,
    "no-text": {"examine_text": False},
    "no-font": {
        f"examine_{name}": False
        for name in ("font_name", "font_size", "font_bold", "font_italic", "font_underline")
    },
    "no-look": {
        f"examine_{name}": False
        for name in ("color_rgb", "strike_through", "alignment", "bullets", "indent")
    },
    "no-slide": {
        f"examine_{name}": False for name in ("number_of_slides", "background_color", "note")
    },
    "loose": {"approximately_tolerance": 0.5},
    "title": _ONLY_PLACES | {"examine_title_bottom_position": True},
    "table": _ONLY_PLACES | {"examine_table_bottom_position": True},
    "right": _ONLY_PLACES | {"examine_right_position": True},
    "top": _ONLY_PLACES | {"examine_top_position": True},
    "shift": _ONLY_PLACES | {"examine_shape_for_shift_size": True},
    "size": _ONLY_PLACES | {"examine_image_size": True},
    "height": _ONLY_PLACES | {"examine_modify_height": True},
}


def _emu(*sides):
    return tuple(Emu(side * 100_000) for side in sides)


def _png():
    kept = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(kept, "png")
    return io.BytesIO(kept.getvalue())


def _presentation(_):
    made = Presentation()
    blank = made.slide_layouts[6]
    first, second, third = (made.slides.add_slide(blank) for _ in range(3))
    box = first.shapes.add_textbox(*_emu(10, 10, 30, 10))
    box.text_frame.text = "Product Comparison"
    run = box.text_frame.add_paragraph().add_run()
    run.text, run.font.size, run.font.color.rgb = "second", Pt(20), RGBColor(1, 2, 3)
    group = first.shapes.add_group_shape()
    group.shapes.add_textbox(*_emu(1, 1, 9, 9)).text_frame.text = "grouped"
    second.shapes.add_picture(_png(), *_emu(5, 30, 10, 10))
    second.shapes.add_shape(
        MSO_SHAPE.RECTANGLE, *_emu(20, 20, 10, 10)
    ).text_frame.text = "Elaborate on what you want to discuss."
    table = third.shapes.add_table(2, 2, *_emu(5, 5, 40, 20)).table
    table.cell(0, 0).text_frame.text = "head"
    freeform = third.shapes.build_freeform(0, 0)
    freeform.add_line_segments([(500_000, 0), (500_000, 400_000), (0, 0)])
    freeform.convert_to_shape()
    return made


def _box(made):
    return made.slides[0].shapes[0]


def _run(made):
    return _box(made).text_frame.paragraphs[1].runs[0]


def _font(name, value):
    return lambda made: setattr(_run(made).font, name, value)


def _move(slide, shape, side, hundred_thousands):
    def change(made):
        setattr(made.slides[slide].shapes[shape], side, Emu(hundred_thousands * 100_000))

    return change


def _paragraph(name, value):
    return lambda made: setattr(_box(made).text_frame.paragraphs[1], name, value)


def _background(made):
    fill = made.slides[1].background.fill
    fill.solid()
    fill.fore_color.rgb = RGBColor(255, 0, 0)


def _theme(made):
    _run(made).font.color.theme_color = MSO_THEME_COLOR.ACCENT_1


def _note(made, text):
    made.slides[0].notes_slide.notes_text_frame.text = text


def _bullet(made):
    props = _box(made).text_frame.paragraphs[1]._p.get_or_add_pPr()
    mark = props.makeelement("{http://schemas.openxmlformats.org/drawingml/2006/main}buChar", {})
    mark.set("char", "•")
    props.append(mark)


def _cell(made):
    return made.slides[2].shapes[0].table.cell(0, 0).text_frame


def _strike(made):
    _run(made).font._element.set("strike", "sngStrike")


def _grouped(made):
    return made.slides[0].shapes[1].shapes[0].text_frame


CHANGES = {
    "base": lambda made: None,
    "more": lambda made: made.slides.add_slide(made.slide_layouts[6]),
    "shape": lambda made: made.slides[0].shapes.add_textbox(*_emu(1, 1, 1, 1)),
    "text": lambda made: setattr(_run(made), "text", "other"),
    "padded": lambda made: setattr(_run(made), "text", "second "),
    "runs": lambda made: _box(made).text_frame.paragraphs[1].add_run(),
    "paragraph": lambda made: _box(made).text_frame.add_paragraph(),
    "bold": _font("bold", True),
    "unbold": _font("bold", False),
    "italic": _font("italic", True),
    "underline": _font("underline", True),
    "ununderline": _font("underline", False),
    "wavy": _font("underline", MSO_UNDERLINE.WAVY_LINE),
    "name": _font("name", "Arial"),
    "size": _font("size", Pt(30)),
    "colour": lambda made: setattr(_run(made).font.color, "rgb", RGBColor(9, 9, 9)),
    "theme": _theme,
    "strike": _strike,
    "right": _paragraph("alignment", PP_ALIGN.RIGHT),
    "left": _paragraph("alignment", PP_ALIGN.LEFT),
    "level": _paragraph("level", 1),
    "bullet": _bullet,
    "background": _background,
    "note": lambda made: _note(made, "a note"),
    "no-note": lambda made: _note(made, " "),
    "grouped": lambda made: setattr(_grouped(made), "text", "other"),
    "group-right": lambda made: setattr(_grouped(made).paragraphs[0], "alignment", PP_ALIGN.RIGHT),
    "title-low": _move(0, 0, "top", 40),
    "title-lower": _move(0, 0, "top", 20),
    "nudged": lambda made: setattr(_box(made), "left", Emu(1_000_999)),
    "picture-right": _move(1, 0, "left", 50),
    "picture-high": _move(1, 0, "top", 10),
    "picture-wide": _move(1, 0, "width", 20),
    "task-moved": _move(1, 1, "left", 40),
    "table-low": _move(2, 0, "top", 50),
    "freeform-high": _move(2, 1, "height", 9),
    "freeform-moved": _move(2, 1, "left", 9),
    "cell": lambda made: setattr(_cell(made), "text", "other"),
    "cell-bold": lambda made: setattr(_cell(made).paragraphs[0].runs[0].font, "bold", True),
    "cell-line": lambda made: _cell(made).add_paragraph(),
    "cell-run": lambda made: _cell(made).paragraphs[0].add_run(),
    "portrait": lambda made: setattr(made, "slide_width", Emu(1_000_000)),
}


def presentations(folder, every=1):
    """Variants of a .pptx of three slides; the first is the base."""
    found = changed(folder / "pptx", ".pptx", _presentation, CHANGES, every)
    junk = folder / "pptx" / "junk.pptx"
    junk.write_bytes(b"no presentation")
    return found | {"junk": str(junk)}
