"""What is answered by a screen: pictures, the accessibility tree, windows, the wallpaper."""

import importlib
import io
import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .commands import Ran, Runner
from .warm import Warm
from .wire import ApiError, Request, Response, as_json, text

OPEN_S = 60.0
"""How long a file that was opened may take to have a window. OSWorld's server waits for 1800 s."""
_TREE_S = 60.0
_EVERY_S = 0.1
_TREE = "from guest.tree import print_tree; print_tree()"
_TERMINAL = "from guest.tree import print_terminal; print_terminal()"
_BACKGROUND = ("org.gnome.desktop.background", "picture-uri")


class X11Screen:
    """Implements `api.Screen` on the display that $DISPLAY names."""

    def __init__(self, runner: Runner, warm: Warm) -> None:
        self._runner = runner
        self._warm = warm
        self._shot = threading.Lock()

    def routes(self) -> Mapping[tuple[str, str], Any]:
        return {
            ("GET", "/screenshot"): self._screenshot,
            ("GET", "/accessibility"): lambda _request: as_json({"AT": self._tree()}),
            ("GET", "/terminal"): self._terminal,
            ("GET", "/cursor_position"): self._pointer,
            ("POST", "/screen_size"): self._size,
            ("POST", "/window_size"): self._window_size,
            ("POST", "/wallpaper"): self._wallpaper,
            ("POST", "/setup/change_wallpaper"): self._change_wallpaper,
            ("POST", "/setup/open_file"): self._open,
            ("POST", "/setup/activate_window"): self._activate,
            ("POST", "/setup/close_window"): self._close,
        }

    def warm(self, argv: list[str], operation: str, timeout_s: float) -> Ran | None:
        program = os.path.basename(argv[0])  # noqa: PTH119 - a word, not a file
        if program not in ("python", "python3") or len(argv) != 3 or argv[1] != "-c":
            return None
        if self._runner.clock():  # the warm interpreter was started with the true time
            return None
        return self._warm.run(argv[2], operation, timeout_s)

    def window_exists(self, name: str) -> bool:
        return any(name.lower() in row["title"].lower() for row in self._windows())

    # -- seen ---------------------------------------------------------------------------------

    def _screenshot(self, _request: Request) -> Response:
        """With the pointer, which a picture of the screen leaves out."""
        with self._shot:
            image = importlib.import_module("PIL.ImageGrab").grab(xdisplay=os.environ["DISPLAY"])
            display = importlib.import_module("Xlib.display").Display(os.environ["DISPLAY"])
            try:
                _draw_pointer(image, display)
            finally:
                display.close()
        data = io.BytesIO()
        image.save(data, "PNG", compress_level=1)
        return Response(200, data.getvalue(), "image/png")

    def _tree(self) -> str:
        return self._asked(_TREE)

    def _asked(self, code: str) -> str:
        """What the accessibility bus says. Raises ApiError."""
        try:
            ran = self._warm.run(code, "", _TREE_S)
        except subprocess.TimeoutExpired as error:
            raise ApiError(500, {"status": "error", "message": str(error)}) from None
        if ran.returncode:
            raise ApiError(500, {"status": "error", "message": ran.error[-2000:]})
        return ran.output

    def _terminal(self, _request: Request) -> Response:
        return as_json({"output": json.loads(self._asked(_TERMINAL)), "status": "success"})

    def _pointer(self, _request: Request) -> Response:
        display = importlib.import_module("Xlib.display").Display(os.environ["DISPLAY"])
        try:
            at = display.screen().root.query_pointer()
        finally:
            display.close()
        return as_json([at.root_x, at.root_y])

    def _size(self, _request: Request) -> Response:
        display = importlib.import_module("Xlib.display").Display(os.environ["DISPLAY"])
        try:
            screen = display.screen()
        finally:
            display.close()
        return as_json({"width": screen.width_in_pixels, "height": screen.height_in_pixels})

    # -- windows ------------------------------------------------------------------------------

    def _windows(self) -> list[dict[str, str]]:
        """Every window: id, width, height, class (`name.Class`), title."""
        told = self._runner.run(["wmctrl", "-lGx"], shell=False, timeout_s=10).output
        found = []
        for line in told.splitlines():
            # id desktop x y width height class host title; a class may have blanks, which we lose
            parts = line.split(maxsplit=8)
            if len(parts) >= 8:
                names = ("id", "", "", "", "width", "height", "class", "", "title")
                found.append(dict(zip(names, [*parts, ""][:9], strict=True)))
        return found

    def _window_size(self, request: Request) -> Response:
        wanted = request.form().get("app_class_name", b"").decode().lower()
        if not wanted:
            raise ApiError(400, {"error": "app_class_name is required"})
        for row in self._windows():
            if wanted in row["class"].lower().split("."):
                return as_json({"width": int(row["width"]), "height": int(row["height"])})
        raise ApiError(404, {"error": f"no window of class {wanted}"})

    def _named(self, request: Request) -> tuple[str, str]:
        """The id of the window that a request names, and its name. Raises ApiError."""
        data = request.json()
        name = data.get("window_name")
        if not isinstance(name, str) or not name:
            raise ApiError(400, "window_name required")
        by = "class" if data.get("by_class") else "title"
        rows = [row for row in self._windows() if name.lower() in row[by].lower()]
        if not rows:
            raise ApiError(404, f"Window {name} not found (empty results)")
        if data.get("strict"):
            whole = [row for row in rows if name in (row[by], *row[by].split("."))]
            if not whole:
                raise ApiError(404, f"Window {name} not found (strict mode).")
            rows = whole
        return rows[0]["id"], name

    def _activate(self, request: Request) -> Response:
        window, _ = self._named(request)
        self._runner.run(["wmctrl", "-i", "-a", window], shell=False, timeout_s=10)
        return text("Window activated successfully")

    def _close(self, request: Request) -> Response:
        window, _ = self._named(request)
        self._runner.run(["wmctrl", "-i", "-c", window], shell=False, timeout_s=10)
        return text("Window closed successfully.")

    def _open(self, request: Request) -> Response:
        """Open a file, and wait until a window has its name, or one more is there."""
        given = request.json().get("path")
        if not isinstance(given, str) or not given:
            raise ApiError(400, "Path not supplied!")
        path = self._runner.expand(given)
        if not path.exists():
            raise ApiError(404, f"Application/file not found: {path}")
        before = {row["id"] for row in self._windows()}
        self._runner.launch(["xdg-open", str(path)], shell=False)
        deadline = time.monotonic() + OPEN_S
        while time.monotonic() < deadline:
            for row in self._windows():
                if row["id"] not in before and path.stem.lower() in row["title"].lower():
                    self._runner.run(["wmctrl", "-i", "-a", row["id"]], shell=False, timeout_s=10)
                    return text("File opened and window activated successfully")
            time.sleep(_EVERY_S)
        raise ApiError(500, f"Failed to find window for {path.name} within {OPEN_S:g} seconds.")

    # -- the wallpaper ------------------------------------------------------------------------

    def _wallpaper(self, _request: Request) -> Response:
        ran = self._runner.run(["gsettings", "get", *_BACKGROUND], shell=False, timeout_s=10)
        path = Path(ran.output.strip().strip("'").removeprefix("file://"))
        if ran.returncode or not path.is_file():
            raise ApiError(404, "Wallpaper file not found")
        return Response(200, path.read_bytes(), "image/png")

    def _change_wallpaper(self, request: Request) -> Response:
        """The setting; no program here paints it."""
        given = request.json().get("path")
        if not isinstance(given, str) or not given:
            raise ApiError(400, "Path not supplied!")
        path = self._runner.expand(given)
        if not path.exists():
            raise ApiError(404, f"File not found: {path}")
        uri = f"file://{path}"
        self._runner.run(["gsettings", "set", *_BACKGROUND, uri], shell=False, timeout_s=10)
        return text("Wallpaper changed successfully")


def _draw_pointer(image: Any, display: Any) -> None:
    """Draw the pointer where it is, as the server has it."""
    if not display.has_extension("XFIXES"):
        return
    display.xfixes_query_version()
    pointer = display.xfixes_get_cursor_image(display.screen().root)
    data = b"".join((pixel & 0xFFFFFFFF).to_bytes(4, "little") for pixel in pointer.cursor_image)
    size = (pointer.width, pointer.height)
    picture = importlib.import_module("PIL.Image").frombuffer(
        "RGBA", size, data, "raw", "BGRA", 0, 1
    )
    corner = (pointer.x - pointer.xhot, pointer.y - pointer.yhot)
    image.paste(picture, corner, picture)
