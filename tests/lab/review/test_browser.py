"""The review's pages in a real browser: quiet, nothing sticks out, the keyboard reaches all."""

import html
import re
import shutil
import subprocess

import pytest

from hfr_bench.lab.review.page import all_page, item_page
from hfr_bench.lab.review.server import Server
from hfr_bench.testing.reviewing import session

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason=f"no browser ({NAMES[0]}, ...): install chromium"),
]

# Both pages in frames of a given width, and what is asked of them once they are there. A control
# that is hidden or taken out of the tab order cannot be focused.
FRAME = """<!doctype html><body>
<iframe width="{width}" height="900" srcdoc="{item}"></iframe>
<iframe width="{width}" height="900" srcdoc="{all}"></iframe>
<script>
addEventListener("load", () => {{
  let overflow = 0, lost = 0, asked = 0;
  for (const frame of document.querySelectorAll("iframe")) {{
    const page = frame.contentDocument, root = page.documentElement;
    for (const more of page.querySelectorAll("details")) more.open = true;
    overflow = Math.max(overflow, root.scrollWidth - root.clientWidth);
    for (const one of page.querySelectorAll("a, button, input, textarea, summary")) {{
      asked += 1;
      one.focus();
      if (page.activeElement !== one || one.tabIndex < 0) lost += 1;
    }}
  }}
  const page = document.querySelector("iframe").contentDocument;
  const colours = getComputedStyle(page.querySelector("button"));
  Object.assign(document.body.dataset, {{
    overflow, lost, asked,
    labels: [...page.querySelectorAll("input, textarea")].filter(i => i.labels.length === 1).length,
    ink: colours.color,
    paper: colours.backgroundColor,
    body: getComputedStyle(page.body).backgroundColor,
  }});
}});
</script>"""


def opened(address, folder, dark=False):
    """The page's markup once it has run, and the browser's log."""
    done = subprocess.run(
        [
            str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            "--enable-logging=stderr", "--window-size=1500,1000",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            f"--user-data-dir={folder / 'profile'}", address,
        ],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout, done.stderr


def luminance(colour):
    """Of `rgb(r, g, b)`, by WCAG 2."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize(("width", "dark"), [(480, True), (1300, False)])
def test_it_fits_and_is_quiet_and_the_keyboard_reaches_all(experiment, tmp_path, width, dark):
    at_work = session(experiment)
    alias = at_work.after()
    at_work.rate(alias, "no", "yes", "a long note " * 30)
    pages = {"item": item_page(at_work, alias), "all": all_page(at_work)}
    path = tmp_path / "frame.html"
    escaped = {name: html.escape(text) for name, text in pages.items()}
    path.write_text(FRAME.format(width=width, **escaped), encoding="utf-8")
    markup, log = opened(path.as_uri(), tmp_path, dark)
    found = dict(re.findall(r'data-(\w+)="([^"]*)"', markup))
    assert "CONSOLE" not in log
    assert (found["overflow"], found["lost"]) == ("0", "0")
    assert int(found["asked"]) == 6 + 1 + 1 + 1 + 1 + len(at_work.showings) + 2
    assert found["labels"] == "7"
    assert (luminance(found["body"]) < 0.1) == dark
    ink, paper = sorted((luminance(found["ink"]), luminance(found["paper"])))
    assert (paper + 0.05) / (ink + 0.05) >= 4.5


def test_as_it_is_served_it_loads_nothing_and_breaks_no_policy(experiment, tmp_path):
    with Server(session(experiment)) as server:
        markup, log = opened(server.url, tmp_path)
    assert "Trial 1 of" in markup
    assert "CONSOLE" not in log
    assert not re.findall(r'(?:src|href)="(?!data:,|[0-9a-f]{10}"|all")', markup)
