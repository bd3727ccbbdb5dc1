"""A desktop that is a dict: answers what OSWorld's guest server answers, without a process."""

import json as codec
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_NO_WINDOW = 404


@dataclass(frozen=True, slots=True)
class GuestAnswer:
    """What the fake guest answers."""

    status: int
    body: bytes


def _said(**fields: Any) -> GuestAnswer:
    return GuestAnswer(200, codec.dumps(fields).encode())


_MISSING = GuestAnswer(404, b'{"error": "not found"}')


@dataclass
class FakeGuest:
    """A guest of files by path. `run`: (command, shell) -> (stdout, stderr, returncode).

    `windows`: names that can be brought to the front. `broken`: paths that answer 500. `calls`:
    what was asked, as (path, what was sent), in order.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    run: Callable[[Any, bool], tuple[str, str, int]] = lambda *_: ("", "", 0)
    windows: Sequence[str] = ()
    terminal: str = ""
    tree: str = "<desktop-frame/>"
    wallpaper: bytes = b""
    broken: Sequence[str] = ()
    calls: list[tuple[str, Any]] = field(default_factory=list)

    def call(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
        timeout_s: float | None = None,
    ) -> GuestAnswer:
        """Answer one call. Raises KeyError: the fake does not know the path."""
        self.calls.append((path, json if json is not None else dict(form or {})))
        if path in self.broken:
            return GuestAnswer(500, b"broken")
        if path == "/setup/upload":
            self.files[(form or {})["file_path"]] = (files or {})["file_data"]
            return GuestAnswer(200, b"File Uploaded")
        if path in {"/execute", "/setup/execute", "/setup/execute_with_verification"}:
            out, err, code = self.run(json["command"], json["shell"])
            return _said(status="success", output=out, error=err, returncode=code)
        return self._asked(path, json, form or {})

    def _asked(self, path: str, json: Any, form: Mapping[str, str]) -> GuestAnswer:
        if path == "/file":
            found = self.files.get(form["file_path"])
            return _MISSING if found is None else GuestAnswer(200, found)
        if path in {"/setup/activate_window", "/setup/close_window"}:
            known = json["window_name"] in self.windows
            return GuestAnswer(200, b"done") if known else GuestAnswer(_NO_WINDOW, b"no window")
        answers: dict[str, Callable[[], GuestAnswer]] = {
            "/terminal": lambda: _said(status="success", output=self.terminal),
            "/accessibility": lambda: _said(AT=self.tree),
            "/screen_size": lambda: _said(width=1920, height=1080),
            "/window_size": lambda: _said(width=800, height=600),
            "/wallpaper": lambda: GuestAnswer(200, self.wallpaper),
            "/list_directory": lambda: _said(directory_tree=self._tree(json["path"])),
            "/setup/launch": lambda: GuestAnswer(200, b"launched"),
            "/setup/open_file": lambda: GuestAnswer(200, b"opened"),
            "/setup/change_wallpaper": lambda: GuestAnswer(200, b"changed"),
        }
        return answers[path]()

    def _tree(self, path: str) -> dict[str, Any]:
        """A folder with the files that lie in it, and no folders."""
        base = path.rstrip("/") + "/"
        names = [name[len(base) :] for name in sorted(self.files) if name.startswith(base)]
        children = [{"type": "file", "name": name} for name in names]
        return {"type": "directory", "name": base.rsplit("/", 2)[-2], "children": children}
