"""The host's one error: what a request gets for an answer when it cannot be served."""


class HostError(Exception):
    """A refusal with a stable `kind`, which becomes the answer's `error.type`.

    Kinds: bad_json, bad_request, unknown_op, unknown_domain, unknown_task, no_task, reset_failed,
    wrong_distribution, bad_checkout, unsupported. Anything unforeseen is answered as `internal`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
