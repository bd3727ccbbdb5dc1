"""What this machine can run, and how to get the rest. Looks; starts and changes nothing."""

import os
import platform
import shutil
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import NamedTuple

from hfr_bench import __version__, content, plugins
from hfr_bench.errors import BadInputError
from hfr_bench.ports.diagnosis import Diagnosis

MEMORY_GIB = 2.0
DISK_GIB = 2.0
"""Below these a run with containers is likely to break: images take about 1 GiB."""

NEEDED = ("sandboxes", "suites")
"""Of each of these groups one plug must work."""

_GIB = 1024**3


class Finding(NamedTuple):
    """One thing looked at. `group`: machine, or a group of plugs. `ok`: None = cannot be told.

    `advice`: a command to copy, or "".
    """

    group: str
    name: str
    ok: bool | None
    found: str
    advice: str = ""


def examine(folder: Path) -> tuple[Finding, ...]:
    """Look at the machine and at every sandbox, suite and llm that is offered.

    `folder`: where experiments are to be kept.
    """
    return (
        Finding("machine", "python", True, f"{platform.python_version()} on {_platform()}"),
        Finding("machine", "hfr-bench", True, __version__),
        _content(),
        Finding("machine", "cores", True, str(_cores())),
        *_memory(),
        _disk(folder),
        *(
            _plug(group, name, point)
            for group in (*NEEDED, "llms")
            for name, point in plugins.offered(group).items()
        ),
    )


def can_run(findings: Iterable[Finding]) -> bool:
    """Whether an experiment could be run: at least one sandbox and one suite work."""
    working = {finding.group for finding in findings if finding.ok is not False}
    return working.issuperset(NEEDED)


def _platform() -> str:
    return f"{platform.system()} {platform.release()} {platform.machine()}"


def _content() -> Finding:
    where = content.root()
    try:
        kinds = content.kinds()
    except BadInputError as error:
        return Finding("machine", "content", False, str(error), _reinstall("hfr-bench"))
    if not kinds or not (where / "suites").is_dir():
        missing = f"no suites or fault kinds in {where}"
        return Finding("machine", "content", False, missing, "unset HFR_BENCH_CONTENT")
    return Finding("machine", "content", True, f"{len(kinds)} fault kinds in {where}")


def _cores() -> int:
    with suppress(AttributeError):  # not everywhere; may be fewer than the machine has
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> tuple[Finding, ...]:
    try:
        gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _GIB
    except (ValueError, OSError):  # this system does not tell
        return ()
    return (_amount("memory", gib, MEMORY_GIB, ""),)


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free / _GIB
    return _amount("disk", free, DISK_GIB, f" free in {folder.resolve()}")


def _amount(name: str, gib: float, wanted: float, where: str) -> Finding:
    if gib >= wanted:
        return Finding("machine", name, True, f"{gib:.1f} GiB{where}")
    return Finding("machine", name, False, f"{gib:.1f} GiB{where}; {wanted:g} are advised")


def _plug(group: str, name: str, point: EntryPoint) -> Finding:
    """A plug's own word, where it gives one; what cannot be loaded says why."""
    try:
        plug = point.load()
        diagnose = getattr(plug, "diagnose", None)
        said = diagnose() if diagnose else _described(plug)
    except Exception as error:  # noqa: BLE001 - any plug's own error is a finding, not our end
        said = Diagnosis(False, f"{type(error).__name__}: {error}", _install(name, point))
    return Finding(group, name, said.ok, said.found, said.advice)


def _described(plug: object) -> Diagnosis:
    """A plug without a diagnosis of its own could be loaded, and says what it is."""
    return Diagnosis(None, (plug.__doc__ or "loaded").strip().splitlines()[0])


def _install(name: str, point: EntryPoint) -> str:
    """The command that brings what a plug needs: its extra, where its distribution has one."""
    if point.dist is None:
        return ""
    extras = point.dist.metadata.get_all("Provides-Extra") or []
    wanted = f"{point.dist.name}[{name}]" if name in extras else point.dist.name
    return _reinstall(wanted)


def _reinstall(what: str) -> str:
    return f"pip install --upgrade '{what}'"
