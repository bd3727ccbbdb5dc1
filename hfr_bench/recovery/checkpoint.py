"""Checkpoints (paper §5.4): when one is due, how it is sealed, and whether it still fits.

A checkpoint tells what the runtime had written down, never what the world holds: after a crash
the ledger is replayed first (`recovery.ledger.replay`) and what is unresolved is reconciled.
"""

import json
from typing import Any

from hfr_bench.errors import HfrError
from hfr_bench.model.attempt import Decision
from hfr_bench.model.ledger import Checkpoint, CheckpointPoint
from hfr_bench.model.record import json_digest
from hfr_bench.model.terms import Action, LedgerState

FORMAT = 1
"""Of a sealed checkpoint; another one is refused."""

_DEGRADES = frozenset({Action.DEGRADE_MODEL, Action.DEGRADE_TOOL, Action.DEGRADE_SCOPE})
_IN = frozenset({LedgerState.COMMITTED, LedgerState.RECONCILED_COMMITTED})


class CheckpointCorruptError(HfrError, ValueError):
    """A sealed checkpoint is torn, altered, or of a format that is not known here."""


def due(decision: Decision) -> CheckpointPoint | None:
    """Which of the five moments a decision brings, once its moves are durable; None = none.

    BEGUN is the runtime's own. A decision that is several at once counts as the gravest.
    """
    action = decision.action
    if action is Action.ESCALATE:
        return CheckpointPoint.ESCALATING
    if not decision.moves and action not in _DEGRADES and action is not Action.COMPRESS:
        return None
    reached = [move.to for move in decision.moves]
    if any(state in _IN for state in reached):
        return CheckpointPoint.COMMITTED
    if LedgerState.PREPARED in reached:
        return CheckpointPoint.PREPARED
    if action in _DEGRADES or action is Action.COMPRESS:
        return CheckpointPoint.DEGRADED
    return None


def seal(checkpoint: Checkpoint) -> str:
    """One line of JSON: the checkpoint, the format, and SHA-256 over the key-sorted content.

    Raises ValueError where its state is not JSON (pydantic would write null for an infinity).
    """
    content = checkpoint.model_dump()
    try:
        sealed = {"format": FORMAT, "sha256": json_digest(content), "checkpoint": content}
        return json.dumps(sealed, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        trial = f"checkpoint {checkpoint.seq} of trial {checkpoint.trial_id}"
        raise ValueError(f"{trial}: its state is not JSON: {error}") from error


def open_sealed(text: str | bytes) -> Checkpoint:
    """The checkpoint in a line of `seal`. Raises CheckpointCorruptError, saying what is wrong."""
    try:
        sealed: Any = json.loads(text)
        content = sealed["checkpoint"]
        found, wanted, kind = json_digest(content), sealed["sha256"], sealed["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointCorruptError(f"not a sealed checkpoint: {error}") from error
    if kind != FORMAT:
        raise CheckpointCorruptError(f"checkpoint format {kind}, not {FORMAT}: another version's")
    if found != wanted:
        raise CheckpointCorruptError(f"checksum {found[:12]}…, not {str(wanted)[:12]}…: altered")
    try:
        return Checkpoint.model_validate(content)
    except ValueError as error:
        raise CheckpointCorruptError(f"not a checkpoint of this version: {error}") from error


def drift(checkpoint: Checkpoint, config_digest: str, version: str = "") -> str | None:
    """What has changed since the checkpoint was made, in words; None = nothing.

    `version`: of the program or policy. An empty digest or version says nothing on either side.
    """
    changed = []
    for what, then, now in (
        ("configuration", checkpoint.config_digest, config_digest),
        ("version", checkpoint.version, version),
    ):
        if then and now and then != now:
            changed.append(f"{what} {then[:12]} then, {now[:12]} now")
    return "; ".join(changed) or None
