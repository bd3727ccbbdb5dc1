"""`tenacity`: a retry decorator around every call, with the settings that people write."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import Attempted, Decision, Observation
from hfr_bench.model.terms import Action
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.plain import Plain

Settings = Mapping[str, Any]


def exponential_s(retry: int, settings: Settings, _u: float = 0.0) -> float:
    """`wait_exponential`: no chance in it. `retry`: tenacity's attempt_number, from 1."""
    try:
        wait = settings["multiplier"] * settings["exp_base"] ** (retry - 1)
    except OverflowError:  # tenacity sees it coming, unless one of these is 0
        grows = settings["multiplier"] > 0 and settings["max_s"] > 0
        return float(max(settings["min_s"] if grows else 0, settings["max_s"]))
    return float(max(settings["min_s"], min(wait, settings["max_s"])))


def random_exponential_s(retry: int, settings: Settings, u: float) -> float:
    """`wait_random_exponential`: uniform between `min_s` and the exponential."""
    low, high = settings["min_s"], exponential_s(retry, settings)
    return float(low + (high - low) * u)


def exponential_jitter_s(retry: int, settings: Settings, u: float) -> float:
    """`wait_exponential_jitter`: the exponential plus up to `jitter_s`, then bounded."""
    try:
        wait = settings["multiplier"] * settings["exp_base"] ** (retry - 1)
        wait += settings["jitter_s"] * u
    except OverflowError:
        wait = settings["max_s"]
    return float(max(settings["min_s"], min(wait, settings["max_s"])))


def no_wait_s(_retry: int, _settings: Settings, _u: float) -> float:
    """`wait_none`."""
    return 0.0


WAITS: Mapping[str, Callable[[int, Settings, float], float]] = MappingProxyType(
    {
        "random_exponential": random_exponential_s,
        "exponential_jitter": exponential_jitter_s,
        "exponential": exponential_s,
        "none": no_wait_s,
    }
)
"""Seconds to wait by tenacity's name for it: (attempt_number, settings, u in [0, 1))."""

ON = ("any", "transient")


class TenacityRetry(Plain):
    """`@retry(stop=stop_after_attempt(n), wait=...)` around every call, models and tools alike.

    The defaults are those of OpenAI's cookbook: `wait_random_exponential(min=1, max=60)`,
    `stop_after_attempt(6)`, on every exception, a wrong password included. `on: transient` is the
    list of exception types that more careful people give: no answer, 429 and 5xx. A stated
    Retry-After is not read, the key of a call is not known to it, and what it raises in the end
    (RetryError) ends the task. `wait`: `random_exponential`, `exponential_jitter`, `exponential`,
    `none` (tenacity's own default). `attempts` counts the first one. Rules of tenacity 9.2.
    """

    name = "tenacity"
    defaults: Mapping[str, Any] = {
        "attempts": 6,
        "wait": "random_exponential",
        "multiplier": 1.0,
        "min_s": 1.0,
        "max_s": 60.0,
        "exp_base": 2.0,
        "jitter_s": 1.0,
        "on": "any",
    }

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        super().__init__(config, kit)
        for setting, known in (("wait", tuple(WAITS)), ("on", ON)):
            if self._config[setting] not in known:
                raise ValueError(
                    f"strategy 'tenacity': {setting} must be one of {', '.join(known)}, "
                    f"got {self._config[setting]!r}"
                )

    def on_failure(self, event: Attempted) -> Decision:
        view, config = event.view, self._config
        if config["on"] == "transient" and not _transient(event.observation):
            return Decision(Action.FAIL, "not in the list of exceptions")
        if view.attempts >= config["attempts"]:
            return Decision(Action.FAIL, "attempts used up")
        u = uniform("jitter", *self._kit.chance_key, view.step, view.attempts)
        wait_s = WAITS[config["wait"]](view.attempts, config, u)
        return Decision(Action.RETRY, delay_us=round(wait_s * 1_000_000), debit=1)


def _transient(seen: Observation) -> bool:
    """RateLimitError, InternalServerError, APITimeoutError and APIConnectionError."""
    status = seen.status or 0
    return seen.exception is not None or status == 429 or status >= 500
