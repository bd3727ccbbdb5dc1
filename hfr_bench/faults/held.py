"""Delivery of the effects that need the real call (`model.effects`), from truths alone.

Each function says in words what speaks against delivery, or "". Shares no line with the injector.
"""

from collections.abc import Iterable, Mapping, Sequence

from hfr_bench.faults.reading import Attempt, Landing
from hfr_bench.faults.shape import CLOSED, TIMEOUT
from hfr_bench.model.effects import Forget, Late
from hfr_bench.model.trace import AttemptEnded

Asked = tuple[str, str]
"""A tool, and the digest of its arguments."""


class History:
    """The true answers of a trial so far, by what was asked: what a cache could have kept."""

    def __init__(self) -> None:
        self._answers: dict[Asked, list[str]] = {}

    def passed(self, attempt: Attempt) -> None:
        """An attempt is over: what ran in it is known from now on."""
        for one in (*attempt.held, *attempt.effects):
            self._answers.setdefault((one.tool, one.args_digest), []).append(one.response_digest)

    def old(self, attempt: Attempt) -> str | None:
        """The digest of the last earlier answer to this read that was another; None without one."""
        own = attempt.own
        if own is None:
            return None
        earlier = self._answers.get((own.tool, own.args_digest), ())
        return next((d for d in reversed(earlier) if d != own.response_digest), None)


def altered(attempt: Attempt, seen: AttemptEnded, tool_us: int | None) -> str:
    """An altered answer: a good one, in the tool's own time, and not what the world said."""
    own = attempt.own
    if problem := _not_a_good_answer(seen, tool_us):
        return problem
    if own is not None and seen.response_digest == own.response_digest:
        return "should be another than the true answer, but is that one"
    return ""


def stale(seen: AttemptEnded, old: str, tool_us: int | None) -> str:
    """A stale answer: what the world said before, in the tool's own time."""
    if problem := _not_a_good_answer(seen, tool_us):
        return problem
    if seen.response_digest != old:
        return f"declared the earlier answer {old[:8]}, seen {seen.response_digest[:8]}"
    return ""


def silent_for(stall_s: float, attempt: Attempt, seen: AttemptEnded, *, virtual: bool) -> str:
    """No answer for so long, or until the attempt's time was up."""
    timeout_us, stall_us = attempt.sent.timeout_us, round(stall_s * 1_000_000)
    wanted = TIMEOUT if stall_us >= timeout_us else CLOSED
    if seen.exception != wanted or seen.answered:
        return f"declared {wanted}, seen {seen.exception or f'status {seen.status}'}"
    if virtual and seen.latency_us != min(stall_us, timeout_us):
        return f"declared {min(stall_us, timeout_us)} µs, took {seen.latency_us} µs"
    return ""


def late(effect: Late, attempt: Attempt, landed: Sequence[Landing], behind: Attempt | None) -> str:
    """The call ran once, after its attempt: when it was due, or behind the write's next attempt.

    `behind`: that next attempt; None if there was none. What is left lands after the trial.
    """
    if len(landed) != 1:
        return f"should land once, later, but the tool ran {len(landed)} times"
    inside, t_us = landed[0].inside, landed[0].t_us
    if effect.after_s is None and inside is not behind:
        where = "after the trial" if inside is None else f"at {inside.name}"
        return f"should land behind {behind.name if behind else 'the trial'}, but did {where}"
    due_us = attempt.start.t_us + round((effect.after_s or 0) * 1_000_000)
    if effect.after_s is not None and inside is not None and t_us < due_us:
        return f"should land from {due_us} µs on, but did at {t_us} µs"
    return ""


def forgotten(
    effect: Forget, attempt: Attempt, seen: AttemptEnded, first: Attempt, *, virtual: bool
) -> str:
    """Lost but landed at first, then answered; without its key once that has run out."""
    own = attempt.own
    if own is None or len(attempt.effects) != 1:
        return f"the tool should run once, but ran {len(attempt.effects)} times"
    if attempt is first:
        problem = silent_for(effect.stall_s, attempt, seen, virtual=virtual)
    else:
        problem = "" if seen.response_digest == own.response_digest else "not the true answer"
    since_us = attempt.start.t_us - first.start.t_us
    over = since_us >= round(effect.ttl_s * 1_000_000)
    if not problem and over and own.args_digest != attempt.sent.request_digest:
        return "should reach the tool without its key, but had it"
    return problem


def next_of_its_write(attempts: Iterable[Attempt]) -> Mapping[int, Attempt]:
    """For each of the agent's write attempts, by its line, the next one of the same write."""
    found: dict[int, Attempt] = {}
    last: dict[str, Attempt] = {}
    for attempt in attempts:
        key = attempt.sent.stepless_key
        if key:
            if key in last:
                found[last[key].line] = attempt
            last[key] = attempt
    return found


def _not_a_good_answer(seen: AttemptEnded, tool_us: int | None) -> str:
    if not seen.answered or seen.exception is not None:
        return f"declared an answer, seen {seen.exception or f'status {seen.status}'}"
    if tool_us not in (None, seen.latency_us):
        return f"declared {tool_us} µs, took {seen.latency_us} µs"
    return ""
