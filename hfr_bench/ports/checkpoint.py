"""Where the runtime's state survives a crash of the runtime."""

from typing import Protocol

from hfr_bench.model.ledger import Checkpoint


class CheckpointStore(Protocol):
    """Saves and finds the last checkpoint of a trial."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep it; whole or not at all, whenever the process dies."""
        ...

    def last(self, trial_id: str) -> Checkpoint | None:
        """The last one that is whole, or None where none was ever saved.

        Raises CheckpointCorruptError where there are some and not one is whole.
        """
        ...
