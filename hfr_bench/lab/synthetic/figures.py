"""The studies' figures: lines over one axis, as SVG files that stand alone.

Drawn without a display; the same numbers give the same bytes.
"""

import io

from matplotlib import style
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from hfr_bench.lab.synthetic.studies import Found

_MARKS = "osD^vPX*"
_STYLE = {
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.unicode_minus": False,
}


def drawn(found: Found) -> str:
    """The study's figure as the text of an SVG file."""
    with style.context(["default", _STYLE | {"svg.hashsalt": found.name}]):
        canvas = Canvas(figsize=(7.2, 3.6), layout="constrained")
        axes = canvas.subplots()
        for number, line in enumerate(found.series):
            axes.plot(
                line.x, line.y, label=line.name, linewidth=1.5, markersize=4,
                marker=_MARKS[number % len(_MARKS)],
            )  # fmt: skip
        if found.log:
            axes.set_xscale("log")
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(found.x)
        axes.set_ylabel(found.y)
        axes.set_title(f"{found.title} (synthetic)", fontsize=10, loc="left")
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        out = io.StringIO()
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        FigureCanvasSVG(canvas).print_svg(out, metadata=nothing)  # type: ignore[no-untyped-call]
    return out.getvalue()
