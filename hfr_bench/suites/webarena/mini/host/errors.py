"""The host's two errors: a refusal of a request to the host, and a site's own page that says no."""


class HostError(Exception):
    """A refusal with a stable `kind`, which becomes the answer's `error.type`.

    Kinds: bad_json, bad_request, unknown_op, not_ready. Anything unforeseen is `internal`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class SiteError(Exception):
    """A site refuses, in words for its visitor; nothing was changed. `status`: of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
