"""A user's own retry code as a strategy: a `decide`, or the wrapper she puts around a call today.

A wrapper is any callable that takes a function, calls it as often as it sees fit, and returns or
raises: `stamina.retry(on=Exception)(attempt)()`, a tenacity `Retrying`, a loop. It is turned inside
out without threads: for every decision it is run anew over the outcomes so far. Returning accepts;
raising fails; asking for one more attempt than there were outcomes retries. It must therefore do
the same for the same outcomes, which retry code does. Its `time.sleep` costs trial time and no
real time, and its chance (jitter) is fixed by the outcomes. Coroutines are not supported.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, SupportsIndex

from hfr_bench.model.attempt import Attempted, Decision, Finishing, Observation, StrategyEvent
from hfr_bench.model.record import json_digest
from hfr_bench.model.terms import Action
from hfr_bench.ports.strategy import Strategy

Attempt = Callable[[], Any]
Wrapper = Callable[[Attempt], Any]
Decide = Callable[[dict[str, Any], StrategyEvent], tuple[dict[str, Any], Decision]]


class CallFailedError(Exception):
    """What a wrapper's attempt raises for an error answer: `status`, `headers` and `body`."""

    def __init__(self, status: int | None, headers: Mapping[str, str], body: str) -> None:
        super().__init__(f"HTTP {status}" if status is not None else "no usable answer")
        self.status, self.headers, self.body = status, dict(headers), body


class WrapperStrategy:
    """A call wrapper as a strategy. Its state is the outcomes of the step at work."""

    def __init__(self, wrapper: Wrapper) -> None:
        self._wrapper = wrapper

    def begin(self) -> dict[str, Any]:
        return {}

    def decide(
        self, state: dict[str, Any], event: StrategyEvent
    ) -> tuple[dict[str, Any], Decision]:
        if isinstance(event, Finishing):
            return state, Decision(Action.ACCEPT)
        if not isinstance(event, Attempted):
            return state, Decision(Action.DISPATCH)
        step = event.view.step
        fresh: dict[str, Any] = {"step": step, "seen": [], "slept_us": 0}
        before = state if state.get("step") == step else fresh
        seen = [*before["seen"], _outcome(event.observation)]
        action, why, slept_us = self._played(step, seen)
        after = {"step": step, "seen": seen, "slept_us": slept_us}
        waited = max(0, slept_us - before["slept_us"])
        return after, Decision(action, why, delay_us=waited if action is Action.RETRY else 0)

    def _played(self, step: int, seen: list[dict[str, Any]]) -> tuple[Action, str, int]:
        """Run the wrapper over the outcomes: what it does next, why, and how long it has slept."""
        left = iter(seen)

        def attempt() -> Any:
            outcome = next(left, None)
            if outcome is None:
                raise _OneMore
            return _answered(outcome)

        with _own_time(json_digest([step, len(seen)])) as slept_us:
            try:
                self._wrapper(attempt)
            except _OneMore:
                return Action.RETRY, "the wrapper calls again", slept_us()
            except Exception as error:  # noqa: BLE001 - whatever it raises is how it gives up
                return Action.FAIL, f"the wrapper raised {type(error).__name__}", slept_us()
        return Action.ACCEPT, "the wrapper returned", slept_us()


class DecideStrategy:
    """A bare `decide(state, event)` as a strategy; its state begins empty."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide

    def begin(self) -> dict[str, Any]:
        return {}

    def decide(
        self, state: dict[str, Any], event: StrategyEvent
    ) -> tuple[dict[str, Any], Decision]:
        return self._decide(state, event)


def decides(decide: Decide) -> Callable[[], Strategy]:
    """Make strategies of a bare `decide(state, event) -> (state, decision)`."""
    return lambda: DecideStrategy(decide)


def wraps(wrapper: Wrapper) -> Callable[[], Strategy]:
    """Make strategies of a wrapper around a call."""
    return lambda: WrapperStrategy(wrapper)


class _OneMore(BaseException):
    """Not an Exception, so that no retry code takes it for a failure to be retried."""


def _outcome(seen: Observation) -> dict[str, Any]:
    """What a client would have got, as JSON."""
    return {
        "answered": seen.answered,
        "status": seen.status,
        "headers": dict(seen.headers),
        "body": seen.body,
        "exception": seen.exception,
        "sent": seen.sent,
    }


def _answered(outcome: Mapping[str, Any]) -> str:
    """The answer's text, or the exception that a client raises in its place."""
    if outcome["answered"]:
        return str(outcome["body"])
    if outcome["exception"] == "Timeout":
        raise TimeoutError("the call timed out")
    if outcome["exception"]:
        raise ConnectionError(str(outcome["exception"]))
    raise CallFailedError(outcome["status"], outcome["headers"], outcome["body"])


@contextmanager
def _own_time(key: str) -> Iterator[Callable[[], int]]:
    """Sleeping is noted instead of done, and chance is keyed; both as they were afterwards."""
    total = 0.0

    def sleep(seconds: float | SupportsIndex) -> None:
        nonlocal total
        total += max(0.0, float(seconds))

    real, chance = time.sleep, random.getstate()
    random.seed(key)
    time.sleep = sleep
    try:
        yield lambda: round(total * 1_000_000)
    finally:
        time.sleep = real
        random.setstate(chance)
