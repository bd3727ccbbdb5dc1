"""What several libraries share: the openai SDK's retries, and `litellm.completion` around them.

Read and measured in openai 3.57.0 and litellm 1.110.2.
"""

import math
from collections.abc import Mapping
from typing import Any

from hfr_bench.model.attempt import Attempted, Decision, Observation
from hfr_bench.model.terms import Action
from hfr_bench.recovery.plain import transient

SECOND_US = 1_000_000
_INFINITY = ("inf", "+inf", "infinity", "+infinity")

State = dict[str, Any]


def sdk_retries(seen: Observation, longest_s: float) -> bool:
    """`_should_retry`: no answer, else what the server says, else 408, 409, 429 and 5xx.

    A stated wait longer than `longest_s` is not waited for. An answer that cannot be parsed raises
    outside the SDK's loop, so that it is not tried again.
    """
    if seen.exception is not None:
        return True
    told_s = sdk_told_s(seen.headers, longest_s)
    if told_s is not None and math.isfinite(told_s) and told_s > longest_s:
        return False
    said = seen.headers.get("x-should-retry") if (seen.status or 0) >= 400 else None
    return said == "true" or (said != "false" and transient(seen))


def sdk_wait_us(seen: Observation, retry: int, longest_s: float, u: float) -> int:
    """`_calculate_retry_timeout`: the stated wait, else 0.5 s * 2^retry up to 8 s, less up to 25 %.

    `retry` counts from 0; `u` is uniform in [0, 1).
    """
    told_s = sdk_told_s(seen.headers, longest_s)
    if told_s is not None and 0 < told_s <= longest_s:
        return round(told_s * SECOND_US)
    return round(min(0.5 * 2.0 ** min(retry, 1000), 8.0) * (1 - 0.25 * u) * SECOND_US)


def sdk_told_s(headers: Mapping[str, str], longest_s: float) -> float | None:
    """`_parse_retry_after_header`: milliseconds, then seconds; any float.

    A date is not read: it needs the time of day, which a pure strategy has not.
    """
    for header, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(header)
        if value is None:
            continue
        try:
            told = float(value)
        except ValueError:
            continue
        if told == math.inf and value.strip().lower() not in _INFINITY:
            return longest_s + 1  # a number too large for a float
        return told / divisor
    return None


SDK_LONGEST_S = 120.0
"""MAX_RETRY_AFTER_DELAY of openai 3.57."""


def completion_again(
    state: State, event: Attempted, num_retries: int, through_sdk: bool, u: float
) -> tuple[State, Decision]:
    """What `litellm.completion(num_retries=n)` does after a failed attempt.

    Whatever failed, it is called n times more at once: tenacity without a wait, on every error.
    `through_sdk`: before that, the first call has gone through the openai SDK, to which litellm
    hands n as its own retries, with its own waits; so 1 + 2n hits on a 429, and 1 + n on a 400.

    State: `step`; `left`, the calls left of the n, or None while the first call lasts; `since`,
    the attempts that were made before it.
    """
    view, seen = event.view, event.observation
    left, since = (state["left"], state["since"]) if state["step"] == view.step else (None, 0)
    taken = view.attempts - since - 1
    in_sdk = through_sdk and left is None and taken < num_retries
    if in_sdk and sdk_retries(seen, SDK_LONGEST_S):
        wait_us = sdk_wait_us(seen, taken, SDK_LONGEST_S, u)
        return state, Decision(Action.RETRY, "the SDK's retry", delay_us=wait_us, debit=1)
    left = num_retries if left is None else left
    if not left:
        return state, Decision(Action.FAIL, "retries used up")
    after = {**state, "step": view.step, "left": left - 1}
    return after, Decision(Action.RETRY, "called again at once", debit=1)
