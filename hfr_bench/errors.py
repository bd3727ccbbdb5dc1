"""The errors a user can meet. Each says what, where and what to do, and carries its exit code.

Exit codes: 0 all graded; 1 valid fraction below the gate, or an invalid experiment; 2 usage or
bad input; 3 infrastructure; 130 interrupted.
"""


class HfrError(Exception):
    """Root of every error this package raises on purpose; `exit_code` is what the CLI returns."""

    exit_code = 3


class BadInputError(HfrError, ValueError):
    """The user's input is wrong: an unknown key, name, task, file. Nothing was started or lost."""

    exit_code = 2


class InvalidExperimentError(HfrError, RuntimeError):
    """The experiment ran but may not be believed: a reached fault was not delivered, and so on."""

    exit_code = 1


class InfrastructureError(HfrError, OSError):
    """Our own side broke: a tool host died, a port could not be bound, the disk is full."""

    exit_code = 3


class ProviderError(InfrastructureError):
    """The model service itself failed, and nobody injected it: the trial measures nothing."""


class CassetteMissError(InfrastructureError):
    """A replayed trial asked for what was not recorded; nothing is made up in its place."""
