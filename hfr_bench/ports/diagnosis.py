"""What a plug says of itself to `hfr-bench doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Whether a plug can work on this machine, what was found, and how to get what is missing.

    A plug class may offer `diagnose() -> Diagnosis`, a class or static method: it looks and
    starts nothing, takes a second or two at most, and raises nothing. `advice`: a command to copy,
    or "". `ok`: None = it cannot tell.
    """

    ok: bool | None
    found: str
    advice: str = ""
