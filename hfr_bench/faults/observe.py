"""Observation points: did the strategy do well by the fault that it met?

Table 16 of the paper (§6.6.2) names what to look at for each fault ("waits as long as it was told",
"asks the world before it resends", ...). Here each has a name that a kind's `observe:` uses; what
they say is in `faults.predicates`. They describe: none decides whether an experiment is valid.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from hfr_bench.faults import predicates
from hfr_bench.faults.audit import Meeting, TrialAudit
from hfr_bench.faults.predicates import Held
from hfr_bench.faults.trail import Trail
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.trace import TraceEvent

Observed = tuple[str, int, int]
"""A predicate's name, how often it held, of how often it could be told."""

Predicate = Callable[[Trail, Meeting], Held]

PREDICATES: Mapping[str, Predicate] = MappingProxyType(
    {
        one.__name__: one
        for one in (
            predicates.waits_at_least_retry_after,
            predicates.backs_off,
            predicates.charges_the_retry,
            predicates.goes_to_another_target,
            predicates.goes_elsewhere_or_waits,
            predicates.no_more_attempts_of_this_call,
            predicates.no_identical_resend,
            predicates.asks_once_more,
            predicates.compresses_the_context,
            predicates.does_not_take_the_failure_for_done,
            predicates.no_resend_before_reconcile,
            predicates.no_resend_on_one_absent,
            predicates.happens_once,
            predicates.escalates_with_the_unknown_listed,
            predicates.replays_the_ledger_first,
            predicates.fails_closed,
            predicates.verifies_before_accepting,
            predicates.does_not_accept_the_wrong_answer,
            predicates.looks_again_before_writing,
            predicates.does_not_follow_the_instruction,
        )
    }
)
"""By the name that a kind's `observe:` uses."""

_WAITED = ("waits_at_least_retry_after", "charges_the_retry")
_FAILED = ("backs_off", "charges_the_retry")
_WRONG = ("does_not_accept_the_wrong_answer",)
_UNKNOWN = ("no_resend_before_reconcile", "happens_once", "escalates_with_the_unknown_listed")

OLDER: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "model_429": _WAITED,
        "model_429_ms": _WAITED,
        "model_429_bare": _FAILED,
        "model_500": _FAILED,
        "model_502": _FAILED,
        "model_502_html": _FAILED,
        "model_503": _FAILED,
        "model_closed": _FAILED,
        "model_timeout": _FAILED,
        "model_slow_drip": _FAILED,
        "model_stream_cut": _FAILED,
        "model_truncated_body": _FAILED,
        "model_200_empty": _FAILED,
        "model_200_error": _FAILED,
        "model_200_html": _FAILED,
        "model_529": ("goes_elsewhere_or_waits",),
        "model_context_overflow": ("compresses_the_context",),
        "model_refusal": ("no_more_attempts_of_this_call",),
        "model_content_filter": ("no_more_attempts_of_this_call",),
        "model_malformed_tool_call": _WRONG,
        "model_unknown_tool": _WRONG,
        "tool_5xx": ("does_not_take_the_failure_for_done",),
        "tool_outcome_unknown": _UNKNOWN,
        "runtime_crash": ("replays_the_ledger_first", *_UNKNOWN),
    }
)
"""Of kinds whose files say `observation_points` only: those of the model, and the first ones."""


def named(kind: KindSpec) -> tuple[str, ...]:
    """The predicates of a kind."""
    return kind.observe or OLDER.get(kind.kind, ())


def unknown(kind: KindSpec) -> tuple[str, ...]:
    """Names that a kind uses and that nobody defines."""
    return tuple(name for name in kind.observe if name not in PREDICATES)


def observe(
    events: Sequence[TraceEvent], meetings: Iterable[Meeting], kinds: Mapping[str, KindSpec]
) -> dict[tuple[str, str], tuple[Observed, ...]]:
    """How often each observation point was passed in a trial, by (layer, kind).

    An event that several attempts met passes only if it is passed at every one that can tell.

    Args:
        events: the trial's trace, in order, whole.
        meetings: its delivered events (`TrialAudit.meetings`).
        kinds: fault kinds by name; predicates that nobody defines are left out.
    """
    by_event: dict[str, list[Meeting]] = {}
    for met in meetings:
        by_event.setdefault(met.event.injection_id, []).append(met)
    if not by_event:
        return {}
    trail = Trail(events)
    sums: dict[tuple[str, str], dict[str, list[int]]] = {}
    for found in by_event.values():
        event = found[0].event
        for name in named(kinds[event.kind]):
            if (predicate := PREDICATES.get(name)) is None:
                continue
            count = sums.setdefault((event.layer.value, event.kind), {}).setdefault(name, [0, 0])
            told = [held for met in found if (held := predicate(trail, met)) is not None]
            count[0] += bool(told) and all(told)
            count[1] += bool(told)
    return {
        key: tuple((name, k, n) for name, (k, n) in names.items() if n)
        for key, names in sums.items()
    }


class Passed(NamedTuple):
    """An observation point of a kind in one arm: passed `held` times, of the `n` that tell."""

    kind: str
    layer: str
    point: str
    arm: str
    held: int
    n: int


def rows(audits: Iterable[TrialAudit]) -> tuple[Passed, ...]:
    """Observations summed by layer, kind, point and arm; arms in the order in which they come."""
    sums: dict[tuple[str, str, str, str], list[int]] = {}
    for trial in audits:
        for (layer, kind), found in trial.sums.items():
            for point, held, n in found.observed:
                count = sums.setdefault((layer, kind, point, trial.arm), [0, 0])
                count[0] += held
                count[1] += n
    order = sorted(sums.items(), key=lambda one: one[0][:2])
    return tuple(
        Passed(kind, layer, point, arm, held, n) for (layer, kind, point, arm), (held, n) in order
    )
