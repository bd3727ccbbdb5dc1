"""The page in a real browser: nothing on the console, nothing sticks out, the origin is seen."""

import html
import re
import shutil
import subprocess

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering.html import to_html
from hfr_bench.lab.store import Store
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason=f"no browser ({NAMES[0]}, ...): install chromium"),
]

# The page in a frame of a given width (a headless window has a least width of its own), and what
# is asked of it once it is there.
FRAME = """<!doctype html><body><iframe width="{width}" height="900" srcdoc="{page}"></iframe>
<script>
addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentDocument;
  for (const more of page.querySelectorAll("details")) more.open = true;
  const root = page.documentElement, origin = page.getElementById("origin");
  const label = origin.querySelector("strong"), box = label.getBoundingClientRect();
  const seen = page.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  const colours = getComputedStyle(origin);
  Object.assign(document.body.dataset, {{
    overflow: root.scrollWidth - root.clientWidth,
    origin: seen === label ? label.textContent : "hidden",
    ink: colours.color,
    paper: colours.backgroundColor,
    body: getComputedStyle(page.body).backgroundColor,
    figures: [...page.querySelectorAll("svg")].filter(s => s.getBBox().width > 0).length,
    cut: [...page.querySelectorAll("svg text")].filter(text => {{
      const box = text.getBBox(), paper = text.ownerSVGElement.viewBox.baseVal;
      return !(box.width > 0 && box.x >= 0 && box.x + box.width <= paper.width
        && box.y >= 0 && box.y + box.height <= paper.height);
    }}).length,
  }});
}});
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    arms = ("no_retry", "hfr", "blind_resend", "always_escalate")
    plan = planned(arms, tasks=30, rates=(0.0, 0.2, 0.4), faults=some_faults)
    write_all(folder, plan)
    report = analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)
    return to_html(report)


@pytest.fixture
def opened(page, tmp_path):
    """Opens the page at a width in light or dark; returns what was found, and the browser's log."""

    def call(width, dark=False):
        path = tmp_path / "frame.html"
        path.write_text(FRAME.format(width=width, page=html.escape(page)), encoding="utf-8")
        done = subprocess.run(
            [
                str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                "--enable-logging=stderr", "--window-size=1500,1000",
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                f"--user-data-dir={tmp_path / 'profile'}", path.as_uri(),
            ],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        return dict(re.findall(r'data-(\w+)="([^"]*)"', done.stdout)), done.stderr

    return call


def luminance(colour):
    """Of `rgb(r, g, b)`, by WCAG 2."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("width", [420, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_and_is_quiet_and_says_where_it_comes_from(opened, width, dark):
    found, log = opened(width, dark)
    assert "CONSOLE" not in log
    assert found["overflow"] == "0"
    assert found["origin"] == "rehearsal"
    assert found["figures"] == "9"
    assert found["cut"] == "0"
    assert (luminance(found["body"]) < 0.1) == dark
    ink, paper = sorted((luminance(found["ink"]), luminance(found["paper"])))
    assert (paper + 0.05) / (ink + 0.05) >= 4.5
