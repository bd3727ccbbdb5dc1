"""Where the runtime's state survives a crash of the runtime."""

from typing import Protocol

from hfr_bench.model.ledger import Checkpoint


class CheckpointStore(Protocol):
    """Saves and finds the last checkpoint of a trial."""

    def save(self, checkpoint: Checkpoint) -> None: ...

    def last(self, trial_id: str) -> Checkpoint | None: ...
