"""May a failed call be sent again? `should_retry` and the stop conditions (paper §4.3).

`Standing` is what a step has been through; `stop_reason` says why it may not be retried, or None.
Nothing here decides what happens instead.
"""

from enum import StrEnum
from typing import NamedTuple

from hfr_bench.model.attempt import Fault
from hfr_bench.model.terms import Channel, FaultClass, SideEffect

# Below this, the class is a guess: a read probes once, a write asks the world (paper §3.2, §4.2).
SURE = 0.7

# The vocabulary of the paper's configuration (§5.2). V1 is not in it: new evidence decides there.
RETRY_ON: frozenset[str] = frozenset({"T1", "T2", "T3_readonly", "T6_after_compress"})

SAME_CLASS_K = 4
SAME_REJECTION = 2

# A step that has had so many kinds of evidence gets no more: bounds the state, and the loop.
_EVIDENCE_KEPT = 16

_HOPELESS = (FaultClass.PERMANENT, FaultClass.REFUSAL)
_MAY_HAVE_LANDED = (FaultClass.TRANSIENT, FaultClass.TIMEOUT, FaultClass.TOOL_UNAVAILABLE)
_SAME_TARGET = (FaultClass.OVERLOAD, FaultClass.TOOL_UNAVAILABLE)
# Looked up once: a member of an enum costs ten times a global.
_R2, _R3, _TOOL = SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE, Channel.TOOL
_V1, _T3, _T6, _T8 = (
    FaultClass.SEMANTIC,
    FaultClass.TIMEOUT,
    FaultClass.CONTEXT_OVERFLOW,
    FaultClass.REFUSAL,
)
_UNREPEATABLE = (_R2, _R3)
_DENIED = (401, 403)
_ONLY_WHEN_SAFE = {
    FaultClass.TIMEOUT: "T3_readonly",
    FaultClass.CONTEXT_OVERFLOW: "T6_after_compress",
}


class Stop(StrEnum):
    """Why a call is not sent again, in the order in which it is asked, in words for people."""

    HOPELESS = "no retry repairs it"
    IRREVERSIBLE = "irreversible: never sent again by itself"
    RECONCILE_FIRST = "it may have landed: the world is asked first"
    LANDED = "the write was answered: it is not sent again"
    NOT_RETRIED = "this class is not retried"
    SAME_REJECTION = "rejected again for the same reason"
    NO_EVIDENCE = "nothing new to go on"
    COMPRESS_FIRST = "too long: sent again only once it is shorter"
    PROBED = "unsure what it is, and probed once already"
    SAME_TARGET = "the same model or tool will not do better"
    NO_BUDGET = "no retry left"
    TOO_LATE = "it would come too late"
    BREAKER_OPEN = "the breaker is open"
    SAME_CLASS = "the same failure again, and nothing new"


class Standing(NamedTuple):
    """What one step has been through. A new step starts with `FRESH`.

    `failed`: class of the last failure, "" before the first. `same_class_run`: failures in a row
    of that class since the last new evidence. `rejected`, `same_rejection_run`: the last
    verdict's reasons, and how often in a row. `seen`: all evidence so far; `evidence_new`: the
    last failure brought some. `compressed`: the context was made shorter. `repaired`: the call
    was mended once. Survives JSON as a list: `Standing(*restored)`.
    """

    failed: str = ""
    same_class_run: int = 0
    rejected: str = ""
    same_rejection_run: int = 0
    evidence_new: bool = False
    seen: tuple[str, ...] = ()
    compressed: bool = False
    retries: int = 0
    repaired: bool = False


FRESH = Standing()


def after_failure(standing: Standing, fault_class: FaultClass, evidence_key: str) -> Standing:
    """One more failed attempt. `evidence_key`: what was learned from it; "" = nothing."""
    failed, run, rejected, rejections, _, seen, compressed, retries, repaired = standing
    seen = tuple(seen)  # a list, when it comes from a checkpoint
    new = bool(evidence_key) and evidence_key not in seen and len(seen) < _EVIDENCE_KEPT
    if new:
        seen = (*seen, evidence_key)
    run = run + 1 if failed == fault_class and not new else 1
    # Not `_replace`, which takes three times as long.
    return Standing(
        fault_class, run, rejected, rejections, new, seen, compressed, retries, repaired
    )


def after_rejection(standing: Standing, reasons_key: str) -> Standing:
    """One more answer that a verifier rejected: a failure of class V1, its reasons the evidence.

    A transport failure in between does not make the same reason a new one.
    """
    again = standing.same_rejection_run > 0 and standing.rejected == reasons_key
    return after_failure(standing, FaultClass.SEMANTIC, reasons_key)._replace(
        rejected=reasons_key, same_rejection_run=standing.same_rejection_run + 1 if again else 1
    )


def after_retry(standing: Standing) -> Standing:
    """A retry was decided."""
    return standing._replace(retries=standing.retries + 1)


def after_compression(standing: Standing) -> Standing:
    """The context was made shorter: a context overflow may be retried now."""
    return standing._replace(compressed=True)


def after_repair(standing: Standing) -> Standing:
    """The call was handed back to be mended: that happens once."""
    return standing._replace(repaired=True)


def stop_reason(
    fault: Fault,
    level: SideEffect,
    channel: Channel,
    standing: Standing,
    *,
    attempts_left: int,
    in_time: bool,
    breaker_open: bool = False,
    sent: bool = True,
    absent: bool = False,
    same_class_k: int = SAME_CLASS_K,
    retry_on: frozenset[str] = RETRY_ON,
    never_on: frozenset[str] = frozenset(),
) -> Stop | None:
    """Why this failed call may not be sent again as it is; None = it may (paper §4.3).

    Asked in this order, the first that holds is the reason: what no setting permits (T7 or T8;
    R3 once it was sent; a write that may have landed, or was answered), the class (see
    `_ineligible`), then budget, deadline, breaker, and the K-th same failure in a row.

    `standing`: this failure included. `sent`: the request left us. `absent`: the world has been
    asked and does not have the write; an arm without a ledger, which resends R2 unasked, says so
    too. A model call leaves nothing behind. `attempts_left`: retries left (or whether one is).
    `retry_on`, `never_on`: the configuration's vocabulary; plain T4 or T5 in `retry_on` lets a
    call go to the same target again; neither opens what no setting permits.
    """
    if fault.fault_class in _HOPELESS or fault.secondary in _HOPELESS:
        return Stop.HOPELESS
    if sent and level in _UNREPEATABLE and channel is _TOOL:
        if level is _R3:
            return Stop.IRREVERSIBLE
        ambiguous = is_ambiguous(fault, sent, level)
        if ambiguous and not absent:
            return Stop.RECONCILE_FIRST
        if not ambiguous and fault.fault_class is _V1:
            return Stop.LANDED
    why = _ineligible(fault, standing, retry_on, never_on)
    if why is None:
        why = _no_means(attempts_left, in_time, breaker_open)
    if why is None and standing.same_class_run >= same_class_k and not standing.evidence_new:
        return Stop.SAME_CLASS
    return why


def is_ambiguous(fault: Fault, observation_sent: bool, level: SideEffect) -> bool:
    """A write of R2 or R3 left us and nobody knows whether it landed: reconcile, or a person.

    T1, T3 and T5, a timeout that came along with something else, and whatever the classifier is
    not sure of. A read leaves nothing behind, and R1 is sent again under its key (table 7).
    """
    return (
        observation_sent
        and level in _UNREPEATABLE
        and (
            fault.fault_class in _MAY_HAVE_LANDED
            or fault.secondary is _T3
            or fault.confidence < SURE
        )
    )


def may_repair(fault: Fault, standing: Standing, status: int | None = None) -> bool:
    """May a bad call be handed back to be mended, as a new intent (tables 2 and 11)? Once.

    Never what was refused (T8) or is not allowed (`status` 401 or 403): mending is not a way
    around. The one who decides still asks the budget, and the world before it for a write.
    """
    if not fault.repairable or standing.repaired or status in _DENIED:
        return False
    return _T8 not in (fault.fault_class, fault.secondary)


def _ineligible(
    fault: Fault, standing: Standing, retry_on: frozenset[str], never_on: frozenset[str]
) -> Stop | None:
    """Does the class speak against it (table 2)? Only asked where nothing can land twice.

    V1 needs new evidence, T6 a shorter context. A class that the classifier is not sure of is
    worth one probe, even of the same tool (§3.2), and only one, unless `retry_on` names T4 or T5
    outright. T3_readonly there means the timeouts that get this far.
    """
    at = fault.fault_class
    if at in never_on:
        return Stop.NOT_RETRIED
    if at is _V1:
        if standing.same_rejection_run >= SAME_REJECTION:
            return Stop.SAME_REJECTION
        return None if standing.evidence_new else Stop.NO_EVIDENCE
    if at is _T6 and not standing.compressed:
        return Stop.COMPRESS_FIRST
    named = at in retry_on
    if fault.confidence < SURE and not (named and at in _SAME_TARGET):
        return Stop.PROBED if standing.same_class_run > 1 else None
    if named or _ONLY_WHEN_SAFE.get(at) in retry_on:
        return None
    return Stop.SAME_TARGET if at in _SAME_TARGET else Stop.NOT_RETRIED


def _no_means(attempts_left: int, in_time: bool, breaker_open: bool) -> Stop | None:
    if attempts_left < 1:
        return Stop.NO_BUDGET
    if not in_time:
        return Stop.TOO_LATE
    return Stop.BREAKER_OPEN if breaker_open else None
