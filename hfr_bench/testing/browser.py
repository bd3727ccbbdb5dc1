"""A page in a real headless browser: opened in a frame of a given width, and asked by a script."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((path for name in _NAMES if (path := shutil.which(name))), None)
MISSING = f"no browser ({_NAMES[0]}, ...): install chromium"

# A headless window has a least width of its own, a frame has not. `page` is its document; what the
# script puts into `found` comes back, and `done()` ends the asking.
_FRAME = """<!doctype html><body><iframe width="{width}" height="900" srcdoc="{page}"></iframe>
<script>
addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentDocument, found = {{}};
  const done = () => {{ document.body.dataset.found = JSON.stringify(found); }};
  {script}
}});
</script>"""


def ask(page: str, script: str, folder: Path, width: int, *, dark: bool = False) -> dict[str, Any]:
    """What a script finds on a page.

    Args:
        page: HTML.
        script: JavaScript over `page` (the document), `found` (an object) and `done()`.
        folder: a folder of its own for the browser.
        width: of the page, in CSS pixels.
        dark: whether the reader prefers it so.

    Raises:
        AssertionError: something was written to the console, or the script was never done.
    """
    assert BROWSER is not None, MISSING
    path = folder / "frame.html"
    framed = _FRAME.format(width=width, page=html.escape(page), script=script)
    path.write_text(framed, encoding="utf-8")
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            "--enable-logging=stderr", "--window-size=1500,1000", "--virtual-time-budget=5000",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            f"--user-data-dir={folder / 'profile'}", path.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=240,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr, done.stderr
    told = re.search(r'<body data-found="([^"]*)"', done.stdout)
    assert told is not None, "the script was never done"
    found: dict[str, Any] = json.loads(html.unescape(told[1]))
    return found
