"""Applying a model's patch as SWE-bench does: four ways in turn, then a look whether it is there.

Carried out through whatever runs a command in the repository (`Run`), so that a container, a
sandbox and a plain folder are all the same to it.
"""

from collections.abc import Callable
from dataclasses import dataclass

Run = Callable[[str], tuple[int, str]]
"""A shell command, run in the repository -> (exit code, what it said)."""

APPLY_COMMANDS = (
    "git apply --verbose",
    "git apply --verbose --3way",
    "git apply --verbose --reject",
    "patch --batch --forward --fuzz=5 -p1 -i",
)
"""Each is followed by the patch's path. The first that ends with 0 has applied it."""
CLEAN_COMMAND = "git checkout -- . ; git clean -fd"
"""Between two of them: a failed one leaves parts behind."""
REVERSE_CHECK = "git apply --check --reverse"
"""Followed by the patch's path: 0 = it is applied, whoever did it. Also the reconcile predicate of
a `git apply` whose answer was lost."""


@dataclass(frozen=True, slots=True)
class Applied:
    """How it went.

    `by`: the command that did it, REVERSE_CHECK if it was found to be there, None if nothing did;
    `said`: what each command said that was tried, in order.
    """

    by: str | None
    said: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.by is not None


def apply_patch(run: Run, path: str) -> Applied:
    """Apply the patch file at `path` (quoted for a shell where need be) to a clean repository.

    An empty patch must not come here: the last command accepts one, and upstream never asks.
    """
    said = []
    for number, command in enumerate(APPLY_COMMANDS):
        if number:
            run(CLEAN_COMMAND)
        code, text = run(f"{command} {path}")
        said.append(text)
        if code == 0:
            return Applied(command, tuple(said))
    code, _ = run(f"{REVERSE_CHECK} {path}")
    return Applied(REVERSE_CHECK if code == 0 else None, tuple(said))
