"""The host's two errors: a refusal of a request, and a statement that the database refuses."""


class HostError(Exception):
    """A refusal with a stable `kind`, which becomes the answer's `error.type`.

    Kinds: bad_json, bad_request, unknown_op, no_task. Anything unforeseen is `internal`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StatementError(Exception):
    """The database says no, in its own words; nothing was changed."""
