"""An episode on a guest that may be broken from outside while it goes on.

What a guest bears is its profile's (`desktop.exposure`); which program is the user's, and in which
folder he works, is each task's own, read from the steps before it and never from its grading.
"""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import FaultyHost
from hfr_bench.ports.suite import Execution
from hfr_bench.suites.osworld import desktop
from hfr_bench.suites.osworld.episode import DeskWorld
from hfr_bench.suites.osworld.guest_desk import GuestDesk
from hfr_bench.suites.osworld.halves import DeskTask
from hfr_bench.suites.osworld.image import Profile

NO_PROGRAM = "hfr-no-program-of-this-task"
"""Stands for the program of a task that starts none: it strikes nobody, and so is not met."""
_OFFICE, _BROWSER = "soffice.bin", "chromium"
_BY_NAME = MappingProxyType(
    {
        **dict.fromkeys(("google-chrome", "chromium-browser", "chrome"), _BROWSER),
        **dict.fromkeys(("libreoffice", "soffice", "localc", "lowriter"), _OFFICE),
        **dict.fromkeys(("libreoffice_calc", "libreoffice_writer"), _OFFICE),
    }
)
"""What the command lines of programs hold that are started, or named, by another word."""
_BY_SUFFIX = MappingProxyType(
    {
        **dict.fromkeys((".xlsx", ".xls", ".ods", ".csv", ".docx", ".doc", ".odt"), _OFFICE),
        **dict.fromkeys((".txt", ".md", ".py", ".json", ".xml"), "mousepad"),
        **dict.fromkeys((".html", ".htm", ".pdf"), _BROWSER),
    }
)
_SHELLS = frozenset({"bash", "sh", "env", "nohup", "setsid", "socat", "python", "python3"})


def suite_exposure(profile: Profile) -> Exposure:
    """What a suite's guests bear, whichever the task."""
    return desktop.exposure(profile, app=NO_PROGRAM)


def exposure_of(task: DeskTask, profile: Profile) -> Exposure:
    """As above, of one task: its program, and the folder where its first file is put."""
    app = next(_programs(task), NO_PROGRAM)
    found = desktop.exposure(profile, app=app)
    folder = next((posixpath.dirname(path) for path in _files(task)), found.folder)
    return replace(found, folder=folder)


class GuestWorld(DeskWorld):
    """Implements `ports.suite.World` and, once reset, `ports.exposure.Exposed`.

    `profile`: the guest's.
    """

    def __init__(self, desk: GuestDesk, *parts: Any, profile: Profile) -> None:
        super().__init__(desk, *parts)
        self._mine = desk
        self._profile = profile

    @property
    def exposure(self) -> Exposure:
        return exposure_of(self.task, self._profile)

    @property
    def host(self) -> FaultyHost:
        """The guest's: each trial has its own."""
        return cast("FaultyHost", self._mine.host)

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        # What is answered from here (a terminal's text, a refusal) meets what befalls it, too.
        self._mine.guest.platform()
        return super().execute(tool, arguments, actor=actor, operation_id=operation_id)


def _programs(task: DeskTask) -> Iterator[str]:
    """What the user's programs are known by: those that stay once they are started."""
    for step in task.config:
        given = step["parameters"]
        if step["type"] == "launch":
            yield from _launched(given.get("command"))
        elif step["type"] == "open":
            suffix = posixpath.splitext(str(given.get("path", "")))[1].lower()
            yield from (_BY_SUFFIX[suffix],) if suffix in _BY_SUFFIX else ()
    for app in task.row.get("related_apps") or ():
        if app in _BY_NAME:
            yield _BY_NAME[app]


def _launched(command: Any) -> Iterator[str]:
    words = command.split() if isinstance(command, str) else list(command or ())
    name = posixpath.basename(str(words[0])) if words else ""
    if name and name not in _SHELLS:
        yield _BY_NAME.get(name, name)


def _files(task: DeskTask) -> Iterator[str]:
    """The files that are put on the desk, absolute."""
    for step in task.config:
        for file in step["parameters"].get("files") or ():
            path = str(file.get("path", "")) if isinstance(file, Mapping) else ""
            if path.startswith("/"):
                yield path
