"""What a grader says of an episode: each check, whether it passed, and why not."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `passed` None: it rests on words that nobody was there to judge.

    `suspect`: what makes a pass doubtful, in words; the official rule does not mind it.
    """

    name: str
    passed: bool | None
    why: str = ""
    suspect: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The checks of a task. All must pass."""

    checks: tuple[Check, ...]

    @property
    def score(self) -> float | None:
        """1.0 or 0.0 as the official grader would say it; None if that hangs on a missing judge."""
        passed = [check.passed for check in self.checks]
        if False in passed or not passed:
            return 0.0
        return None if None in passed else 1.0

    @property
    def suspect(self) -> str:
        """What makes the verdict doubtful, in words; "" if nothing does."""
        return next((check.suspect for check in self.checks if check.suspect), "")

    @property
    def why(self) -> str:
        """The first check that did not pass, in words; "" if all did."""
        failed = [c for c in self.checks if c.passed is False] or [
            c for c in self.checks if c.passed is None
        ]
        return f"{failed[0].name}: {failed[0].why}" if failed else ""
