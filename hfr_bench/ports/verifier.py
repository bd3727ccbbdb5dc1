"""Strategy-side checks; they never see the grader."""

from typing import Protocol

from hfr_bench.model.attempt import Observation, Verdict
from hfr_bench.model.terms import CheckLevel


class Verifier(Protocol):
    """Judges a step's answer at a level (paper table 8)."""

    def verify(self, level: CheckLevel, tool: str, observation: Observation) -> Verdict: ...
