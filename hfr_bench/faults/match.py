"""What an attempt saw, against what was declared and what truly happened, in words.

Every function returns what speaks against it, or "".
"""

from collections.abc import Mapping
from typing import NamedTuple

from hfr_bench.faults.reading import Attempt
from hfr_bench.faults.shape import Shape
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.terms import Channel
from hfr_bench.model.trace import AttemptEnded


class Terms(NamedTuple):
    """What else the attempts are held to: the kinds, injectors in place, and declared times."""

    kinds: Mapping[str, KindSpec]
    injected: bool
    virtual: bool
    tool_latency_us: int | None


def misshapen(
    attempt: Attempt, seen: AttemptEnded, wanted: Shape, terms: Terms, *, silent: bool
) -> str:
    """Where an answer differs from the declared shape."""
    digest = wanted.response_digest
    shape = wanted.exception or f"status {wanted.status} body {(digest or 'altered')[:8]}"
    if wanted.exception is not None:
        same = seen.exception == wanted.exception
    elif digest is None:
        same = (seen.status, seen.exception) == (wanted.status, None) and _rewritten(attempt, seen)
    else:
        same = (seen.status, seen.response_digest, seen.exception) == (wanted.status, digest, None)
    if not same:
        return f"declared {shape}, seen {told(seen)}"
    if seen.answered and not silent:
        return f"declared {shape}, seen as an answer"
    if seen.retry_after != wanted.retry_after:
        return f"declared Retry-After {wanted.retry_after}, seen {seen.retry_after}"
    if terms.virtual and wanted.latency_us not in (None, seen.latency_us):
        return f"declared {wanted.latency_us} µs, took {seen.latency_us} µs"
    return ""


def _rewritten(attempt: Attempt, seen: AttemptEnded) -> bool:
    """Whether the client has what the gateway sent, and that was not what the model server said.

    Of a request that reached the gateway once; `hit_mismatch` tells of all others.
    """
    if len(attempt.hits) != 1:
        return True
    hit = attempt.hits[0]
    digest = seen.response_digest
    return digest == hit.response_digest and hit.upstream_digest not in ("", digest)


def effect_mismatch(attempt: Attempt, *, lands: bool) -> str:
    """A tool ran under the fault exactly if the event lets the request through, and once."""
    ran = [one.operation_id for one in attempt.effects]
    own = ran.count(attempt.sent.operation_id)
    if lands and not own:
        return "should have reached the world, but the tool did not run"
    if ran and not lands:
        return "should have been lost, but the tool ran"
    if len(ran) > 1:
        return f"the tool ran {len(ran)} times"
    return ""


def hit_mismatch(attempt: Attempt, *, lands: bool) -> str:
    """One request reached the gateway, and the model server exactly if the event says so."""
    if len(attempt.hits) != 1:
        return f"{len(attempt.hits)} requests reached the gateway"
    forwarded = attempt.hits[0].forwarded
    if forwarded and not lands:
        return "should have been kept back, but the model server got it"
    if lands and not forwarded:
        return "should have reached the model server, but did not"
    return ""


def untrue(attempt: Attempt, seen: AttemptEnded, terms: Terms) -> str:
    """Where an attempt without a fault saw something else than what really happened."""
    if attempt.sent.channel is Channel.MODEL:
        if not terms.injected:
            return ""
        if problem := hit_mismatch(attempt, lands=True):
            return problem
        true_digest = attempt.hits[0].response_digest
    else:
        if problem := effect_mismatch(attempt, lands=True):
            return problem
        true_digest = attempt.effects[0].response_digest
        if terms.tool_latency_us not in (None, seen.latency_us):
            return f"a tool takes {terms.tool_latency_us} µs, it took {seen.latency_us} µs"
    if seen.response_digest != true_digest:
        return f"the true answer is {true_digest[:8]}, seen {told(seen)}"
    return ""


def told(ended: AttemptEnded) -> str:
    """What came back, in short."""
    if ended.exception is not None:
        return ended.exception
    return f"status {ended.status} body {ended.response_digest[:8]}"
