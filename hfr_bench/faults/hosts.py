"""Delivery of what is broken in a tool's own container (`model.breakage`), from truths alone.

Three witnesses: what the outer recorder saw; what the world did (executions); and the container's
state, as the sandbox reads it from outside before the call, after it, and once all was undone.
Shares no line with the injector, whose word is not heard.

A fault may be in force and still not touch a call: one that is over before the fault strikes, that
needs no room on the full disk, no memory, no network. Such an attempt has not met its event, and is
held to the truth like any other.
"""

from typing import NamedTuple

from hfr_bench.faults.reading import Attempt, Looks
from hfr_bench.faults.shape import TIMEOUT
from hfr_bench.model.breakage import Break, Breakage
from hfr_bench.model.signs import UNREACHED
from hfr_bench.model.trace import AttemptEnded, HostLooked

KILLED = 137
"""128 + SIGKILL: how a shell tells of a command that was killed."""
_SKEW_S = 30  # two clocks are not read at one time, least of all on a busy machine
_EARLY_US = 100_000  # by so much a timed fault may seem shorter: it is timed by another thread


class Terms(NamedTuple):
    """What else an attempt under a breakage is held to.

    `left_us`: what was left of a fault that is given in seconds, else None. `virtual`: the clock.
    `tool_us`: what a tool's call takes on it; None = not checked.
    """

    left_us: int | None
    virtual: bool
    tool_us: int | None


def untouched(effect: Break, attempt: Attempt, looks: Looks) -> bool:
    """Whether the fault stood as ordered and the call went by it, answered as ever.

    A restart and a lock are met by whoever comes next, whatever it asks for: what they have done
    to the world goes on behind the call.
    """
    seen, before, after = attempt.seen, looks.before, looks.after
    if seen is None or not seen.answered or before is None or after is None:
        return False
    if _not_in_force(effect, before, after):
        return False
    match effect.what:
        case Breakage.PAUSE | Breakage.RESTART | Breakage.INDEX_LOCK:
            return False
        case Breakage.MODAL | Breakage.CLOCK_SKEW:
            return False
        case Breakage.STALL | Breakage.CRASH:
            return not after.struck
        case Breakage.DISK_FULL:
            return "ENOSPC" not in seen.signs
        case Breakage.OOM:
            return after.oom_kills == before.oom_kills
        case Breakage.PARTITION:
            return not UNREACHED.intersection(seen.signs)
        case Breakage.READ_ONLY:
            return "EACCES" not in seen.signs
        case Breakage.APP_KILLED | Breakage.APP_FROZEN:
            return before.app == 0


def problem(
    effect: Break, attempt: Attempt, seen: AttemptEnded, looks: Looks, ran: int, terms: Terms
) -> str:
    """What speaks against delivery, in words, or "".

    `ran`: how often the call ran outside its own attempt.
    """
    before, after, healed = looks.before, looks.after, looks.healed
    if before is None or after is None or healed is None:
        return "nobody looked at the container before, after and behind the fault"
    if wrong := _not_in_force(effect, before, after) or _still_in_force(healed):
        return wrong
    if not seen.answered:
        return _hung(effect, attempt, seen, after, ran, terms)
    if effect.what.halts and terms.left_us is None:
        return "declared Timeout, seen as an answer"
    return _truly_answered(attempt, seen, ran, terms) or _as_declared(effect, seen, before, after)


def _not_in_force(effect: Break, before: HostLooked, after: HostLooked) -> str:
    """Where the container was not in the state that the kind promises."""
    match effect.what:
        case Breakage.PAUSE:
            return "" if before.paused else "the container was not frozen when the call went in"
        case Breakage.STALL | Breakage.CRASH:
            return "" if before.watched else "nobody watched for the call's process"
        case Breakage.DISK_FULL:
            # Behind it there may be room again: a call that removes or shortens a file makes some.
            free = before.free_kib
            return "" if free == 0 else f"the disk was not full: {free} KiB were free"
        case Breakage.OOM:
            limit = before.memory_mib
            same = limit == after.memory_mib == effect.memory_mib
            return "" if same else f"declared a limit of {effect.memory_mib} MiB, it was {limit}"
        case Breakage.PARTITION:
            return "" if before.cut and before.cut == after.cut else "nobody was out of reach"
        case Breakage.RESTART:
            anew = before.restarted and after.restarted
            return "" if anew else "the container was not started anew"
        case Breakage.INDEX_LOCK:
            return "" if before.left else "no lock lay in the repository when the call went in"
        case _:
            return _no_broken_desktop(effect, before)


def _no_broken_desktop(effect: Break, before: HostLooked) -> str:
    """As `_not_in_force`, of what befalls a desktop: the call itself may end it."""
    match effect.what:
        case Breakage.READ_ONLY:
            return "" if before.protected else "the folder could be written to"
        case Breakage.APP_KILLED:
            return "" if before.app is not None else "nobody struck the program"
        case Breakage.APP_FROZEN:
            halted = before.app == 0 or before.app_stopped > 0
            return "" if before.app is not None and halted else "the program was not halted"
        case Breakage.MODAL:
            return "" if before.modal else "no dialog was there when the call went in"
        case _:
            near = abs(before.skew_s - effect.offset_s) <= _SKEW_S
            return "" if near else f"the clock was off by {before.skew_s} s"


def _still_in_force(healed: HostLooked) -> str:
    """What is left of it: the next call would meet it, too."""
    left = {
        "the container is frozen": healed.paused,
        "somebody is out of reach": bool(healed.cut),
        "no block is free": healed.free_kib == 0,
        "the call is still at work": bool(healed.at_work),
        "the folder may not be written to": healed.protected,
        "the program is halted": bool(healed.app_stopped),
        "the clock is off": bool(healed.skew_s),
    }
    return next((f"after it was undone, {what}" for what, is_so in left.items() if is_so), "")


def _hung(
    effect: Break,
    attempt: Attempt,
    seen: AttemptEnded,
    after: HostLooked,
    ran: int,
    terms: Terms,
) -> str:
    """No answer in time: the call was halted, or cut off; it ran once, and only later."""
    halted = {
        Breakage.PAUSE: after.paused,
        Breakage.STALL: after.stopped > 0 and after.struck > 0,
        Breakage.PARTITION: bool(after.cut),
    }
    timeout_us = attempt.sent.timeout_us
    if seen.exception != TIMEOUT:
        return f"declared {TIMEOUT}, seen {seen.exception or f'status {seen.status}'}"
    if effect.what not in halted:
        return f"a call under {effect.what} is answered, this one was not"
    if not halted[effect.what]:
        return "when it was given up, nothing held it up any more"
    if terms.virtual and seen.latency_us != timeout_us:
        return f"declared {timeout_us} µs, took {seen.latency_us} µs"
    if seen.latency_us < timeout_us:
        return f"given up after {seen.latency_us} of {timeout_us} µs"
    if attempt.own is not None:
        return "should run later, but ran in its own attempt"
    return "" if ran == 1 else f"should run once, later, but ran {ran} times"


def _truly_answered(attempt: Attempt, seen: AttemptEnded, ran: int, terms: Terms) -> str:
    """The answer is the world's own, of this attempt, in the tool's own time."""
    own = attempt.own
    if own is None or len(attempt.effects) != 1 or ran != 0:
        return f"the tool should run once, but ran {len(attempt.effects) + ran} times"
    if seen.response_digest != own.response_digest:
        return f"the true answer is {own.response_digest[:8]}, seen {seen.response_digest[:8]}"
    if terms.tool_us not in (None, seen.latency_us):
        return f"declared {terms.tool_us} µs, took {seen.latency_us} µs"
    if terms.left_us is not None and seen.latency_us < min(
        terms.left_us - _EARLY_US, attempt.sent.timeout_us
    ):
        return f"answered after {seen.latency_us} µs, while it was held up for {terms.left_us}"
    return ""


def _as_declared(effect: Break, seen: AttemptEnded, before: HostLooked, after: HostLooked) -> str:
    """What the answer must say, and what must have become of the call's processes."""
    match effect.what:
        case Breakage.CRASH:
            if not after.struck or after.at_work:
                return f"its process should be gone: {after.struck} hit, {after.at_work} there"
            if before.oom_kills != after.oom_kills:
                return "its process was killed for lack of memory, not by the fault"
            return "" if seen.exit_code == KILLED else f"declared exit code {KILLED}, {_told(seen)}"
        case Breakage.OOM:
            if seen.exit_code in (None, 0) or after.oom_kills in (None, before.oom_kills):
                return f"declared a kill for lack of memory, {_told(seen)}"
        case Breakage.DISK_FULL:
            return "" if "ENOSPC" in seen.signs else f"declared ENOSPC, {_told(seen)}"
        case Breakage.READ_ONLY:
            return "" if "EACCES" in seen.signs else f"declared EACCES, {_told(seen)}"
        case Breakage.PARTITION:
            met = UNREACHED.intersection(seen.signs)
            return "" if met else f"declared that somebody is not reached, {_told(seen)}"
        case Breakage.INDEX_LOCK:
            if "EEXIST" in seen.signs and seen.exit_code == 0:
                return f"declared that a locked index is an error, {_told(seen)}"
        case _:
            pass
    return ""


def _told(seen: AttemptEnded) -> str:
    return f"seen exit code {seen.exit_code}, {', '.join(seen.signs) or 'no system error'}"
