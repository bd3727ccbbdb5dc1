"""The host's two errors: a refusal of a request, and a tool's own answer that says no."""


class HostError(Exception):
    """A refusal with a stable `kind`, which becomes the answer's `error.type`.

    Kinds: bad_json, bad_request, unknown_op, no_task, reset_failed. Anything unforeseen is
    answered as `internal`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ToolError(Exception):
    """A domain error: the desk refuses, in words for the agent; nothing was changed."""
