"""What keeps a task from being graded."""

from hfr_bench.errors import BadInputError


class UngradeableError(BadInputError):
    """A metric or a getter that nothing here can carry out: not a failure of the agent."""


class NotCachedError(UngradeableError):
    """A file of the task's own is not in its cache, and nothing is downloaded silently."""
