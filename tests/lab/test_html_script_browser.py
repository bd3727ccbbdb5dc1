"""The page's script in a real browser: tables are sorted, timelines made when they are opened."""

import html
import json
import re
import shutil
import subprocess

import pytest

from hfr_bench.lab.render_html import to_html

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason=f"no browser ({NAMES[0]}, ...): install chromium"),
]

# Asks the page in a frame; what is found goes into the title, as JSON.
FRAME = """<!doctype html><body><iframe width="{width}" height="900" srcdoc="{page}"></iframe>
<script>
addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentDocument, root = page.documentElement;
  const table = page.querySelector("#first table"), column = 1, found = {{}};
  const read = () => [...table.tBodies[0].rows].map(row => [row.cells[0].textContent,
    row.cells[column].firstChild.textContent.trim(), row.className]);
  const head = table.tHead.rows[0].cells[column], button = head.querySelector("button");
  button.focus();
  found.focused = page.activeElement === button;
  found.orders = [read()];
  found.sorts = [];
  for (let n = 0; n < 3; n++) {{
    button.click();
    found.sorts.push(head.getAttribute("aria-sort"));
    found.orders.push(read());
  }}
  const cases = [...page.querySelectorAll("details.case")];
  found.before = page.querySelectorAll("table.sides").length;
  for (const more of page.querySelectorAll("details")) more.open = true;
  setTimeout(() => {{
    found.cases = cases.length;
    found.after = page.querySelectorAll("table.sides").length;
    found.faults = page.querySelectorAll("table.sides tr.fault").length;
    found.parted = [...page.querySelectorAll(".tag")].filter(tag => /part/.test(tag.textContent))
      .length;
    found.overflow = root.scrollWidth - root.clientWidth;
    const reach = "a, button, summary, [tabindex='0']";
    found.unreachable = [...page.querySelectorAll(reach)].filter(one => one.tabIndex < 0).length;
    document.body.dataset.found = JSON.stringify(found);
  }}, 50);
}});
</script>"""


@pytest.fixture(scope="module", params=[(1300, False), (480, True)], ids=["wide", "narrow-dark"])
def found(request, reported, tmp_path_factory):
    """What was found on the page, and the browser's log."""
    (width, dark), folder = request.param, tmp_path_factory.mktemp("page")
    path = folder / "frame.html"
    path.write_text(FRAME.format(width=width, page=html.escape(to_html(*reported))))
    done = subprocess.run(
        [
            str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            "--enable-logging=stderr", "--window-size=1500,1000", "--virtual-time-budget=3000",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            f"--user-data-dir={folder / 'profile'}", path.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr, done.stderr
    (told,) = re.findall(r'data-found="([^"]*)"', done.stdout)
    return json.loads(html.unescape(told))


def test_a_header_sorts_up_down_and_back_with_yardsticks_last(found):
    as_it_was, up, down, back = found["orders"]
    assert found["sorts"] == ["ascending", "descending", None]
    assert back == as_it_was
    assert found["focused"]
    for order in (up, down):
        styles = ["yardstick" in style for _, _, style in order]
        assert styles == sorted(styles)
        assert sum("first-yardstick" in style for _, _, style in order) == 1
    apart = [[float(v) for _, v, s in order if "yardstick" not in s] for order in (up, down)]
    assert apart[0] == sorted(apart[0])
    assert apart[1] == sorted(apart[1], reverse=True)


def test_timelines_are_made_when_a_pair_is_opened(found, reported):
    assert found["before"] == 0
    assert found["after"] == found["cases"] == len(reported[1].cases)
    data = json.loads(reported[1].data)
    met = [[data["trials"][one]["zero"] for one in pair["sides"]] for pair in data["pairs"]]
    assert found["faults"] >= sum(zeros != [None, None] for zeros in met) > 0
    assert found["parted"] == found["cases"]


def test_it_fits_and_all_of_it_is_reached_by_keyboard(found):
    assert found["overflow"] == 0
    assert found["unreachable"] == 0
