"""Remove what a killed run has left in containers, networks, volumes and processes: its own only.

`run` does so by itself when it starts; this is for an experiment that is not to be run again.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from hfr_bench import content, plugins
from hfr_bench.errors import BadInputError
from hfr_bench.lab.register import LOCK, load_prereg
from hfr_bench.lab.runlock import only_one
from hfr_bench.model.prereg import Lock
from hfr_bench.owner import run_id, this_process
from hfr_bench.ports.sandbox import Sandbox, SandboxContext, SandboxUnavailableError


class Cleaned(NamedTuple):
    """What is gone, by name, and the sandboxes that could not be asked, each with the reason."""

    removed: tuple[str, ...]
    unasked: tuple[str, ...]


def clean(folder: Path) -> Cleaned:
    """Ask every sandbox that is offered, since a run may have used another than the registered.

    Results are not touched. Raises BadInputError if a run is at work in the directory.
    """
    digests = tuple(_digests(folder))
    removed: list[str] = []
    unasked: list[str] = []
    with only_one(folder):
        for name, point in plugins.offered("sandboxes").items():
            try:
                plug = point.load()
                for digest in digests:
                    removed += _reap(plug(SandboxContext(run_id(folder, digest), this_process())))
            except (SandboxUnavailableError, BadInputError, ImportError) as error:
                unasked.append(f"{name}: {error}")
    return Cleaned(tuple(removed), tuple(unasked))


def _reap(sandbox: Sandbox) -> tuple[str, ...]:
    try:
        return sandbox.reap()
    finally:
        sandbox.close()


def _digests(folder: Path) -> Iterator[str]:
    """Runs are named by the registration: as it is, and as it was frozen if that differs."""
    now = load_prereg(folder).digest()
    yield now
    path = folder / LOCK
    if path.is_file():
        try:
            frozen = Lock.loads(path.read_bytes()).prereg_digest
        except ValidationError as error:
            raise BadInputError(f"{path}: {content.explain(error)}") from error
        if frozen != now:
            yield frozen
