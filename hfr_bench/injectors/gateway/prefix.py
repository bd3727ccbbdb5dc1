"""The prefix of a live fork: until its first fault, a trial is answered as the calm trial was.

    request ─ no fault met before it? ─ recorded? ─yes→ after the recorded time, the recorded answer
                     └ no: live            └ no: a miss, said in the hit; live

It stands in the model server's place, below the faults: what meets the first fault is still of the
prefix, so that in every arm the same is done to the same answer.
"""

from collections.abc import AsyncIterator, Callable, Mapping

from multidict import CIMultiDict

from hfr_bench.injectors.gateway.exchange import Exchange
from hfr_bench.model.cassette import Heard
from hfr_bench.model.record import text_digest
from hfr_bench.ports.llm import ABSORBED

_TIMEOUT = "x-hfr-timeout-us"
_SHARE = 0.9  # of an attempt's timeout: an answer that came in time when recorded comes so again


class Played:
    """A recorded response, read like one that comes from the model server (`upstream.Response`)."""

    def __init__(self, heard: Heard) -> None:
        self.status = heard.status
        # What was absorbed then is no error of this trial's service.
        self.headers = CIMultiDict((n, v) for n, v in heard.headers.items() if n != ABSORBED)
        self.content_type = heard.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._chunks = heard.chunks

    async def __aenter__(self) -> "Played":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join(self._chunks)

    async def pieces(self, waiting: Callable[[], None] | None = None) -> AsyncIterator[bytes]:
        """The body in the pieces in which it came; `waiting` is called before each."""
        for chunk in self._chunks:
            if waiting is not None:
                waiting()
            yield chunk


def seek(exchange: Exchange) -> None:
    """Hold a request that no fault was met before against the prefix, answered or not.

    So a trial has parted, too, whose first fault is the answer to what is not recorded.
    """
    prefix = exchange.guest.scene.prefix
    if prefix is not None and exchange.dialect:
        found = prefix.seek(exchange.place, text_digest(exchange.body))
        exchange.prefix, exchange.recorded = found


async def played(exchange: Exchange) -> Played | None:
    """The recorded answer, after the time that it took; None if the model server is to be asked."""
    line = exchange.recorded
    if line is None or line.response is None:
        return None
    await exchange.guest.pause(_wait_us(line.latency_us, exchange.request.headers))
    return Played(line.response)


def _wait_us(latency_us: int, headers: Mapping[str, str]) -> int:
    """As recorded; less where that would reach the timeout, since our own way adds to it."""
    told = headers.get(_TIMEOUT, "")
    bound = round(int(told) * _SHARE) if told.isascii() and told.isdigit() else latency_us
    return min(latency_us, bound)
