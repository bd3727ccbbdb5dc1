"""The one-method socket that the whole onion is made of."""

from typing import Protocol

from hfr_bench.model.attempt import Call, Observation


class CallPort(Protocol):
    """Makes one attempt. Failures come back as observations; an exception means *we* broke."""

    def attempt(self, call: Call) -> Observation: ...
