"""Checkpoints as files: sealed, swapped in whole, and the few last ones kept (paper §5.4).

A file a checkpoint, `<trial>/<seq>.json`. One that is torn or altered is passed over for the one
before it, and named: what it knew more, the ledger knows as well.
"""

import os
import re
from pathlib import Path
from typing import Final

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.ledger import Checkpoint
from hfr_bench.model.record import text_digest
from hfr_bench.ports.ledger import Durability
from hfr_bench.recovery.checkpoint import CheckpointCorruptError, open_sealed, seal

KEPT: Final = 3
"""Of a trial: the last one, and two to fall back on."""


class CheckpointFiles:
    """Implements `ports.checkpoint.CheckpointStore` in a folder; one writer a trial.

    `durability` "power": a saved checkpoint outlives the machine too. `damaged`: what `last`
    passed over, in words, newest first. A lower `seq` than the last one's starts the trial over:
    what it had before is forgotten. Raises InfrastructureError where a file cannot be written.
    """

    def __init__(self, folder: str | Path, durability: Durability = "process") -> None:
        self.damaged: tuple[str, ...] = ()
        self._folder, self._power = Path(folder), durability == "power"

    def save(self, checkpoint: Checkpoint) -> None:
        folder = self._of(checkpoint.trial_id)
        path = folder / f"{checkpoint.seq:06d}.json"
        part = path.with_suffix(".part")
        text = seal(checkpoint)
        try:
            if not folder.is_dir():
                folder.mkdir(parents=True)
            with part.open("w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                if self._power:
                    os.fsync(file.fileno())
            part.replace(path)
            kept = 0
            for other in _newest_first(folder):
                kept += int(other.stem) <= checkpoint.seq
                if not 0 < kept <= KEPT:
                    other.unlink()
            if self._power:
                _sync_folder(folder)
        except OSError as error:
            raise InfrastructureError(
                f"{path}: the checkpoint cannot be written: {error.strerror or error}; free the "
                "disk or mend it, then run again"
            ) from error

    def last(self, trial_id: str) -> Checkpoint | None:
        self.damaged = ()
        for path in _newest_first(self._of(trial_id)):
            try:
                found = open_sealed(path.read_bytes())
                if found.trial_id == trial_id:
                    return found
                raise CheckpointCorruptError(f"it is of trial {found.trial_id}")
            except CheckpointCorruptError as error:
                self.damaged += (f"{path}: {error}",)
        if self.damaged:
            raise CheckpointCorruptError(f"no checkpoint is whole: {'; '.join(self.damaged)}")
        return None

    def _of(self, trial_id: str) -> Path:
        """The trial's folder; an id that is no plain file name gets one made of its digest."""
        plain = re.fullmatch(r"\w[\w.-]{0,99}", trial_id, re.ASCII)
        return self._folder / (trial_id if plain else "=" + text_digest(trial_id))


def _newest_first(folder: Path) -> list[Path]:
    """The checkpoints in it; none where there is no folder."""
    if not folder.is_dir():
        return []
    numbered = [
        path for path in folder.iterdir() if path.suffix == ".json" and path.stem.isdecimal()
    ]
    return sorted(numbered, key=lambda path: int(path.stem), reverse=True)


def _sync_folder(folder: Path) -> None:
    """Make a new name in the folder survive a power failure."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
