"""Signals -> fault class (paper tables 2, 4 and 11): an ordered table of rules.

Status codes alone are not enough: a 429 may be a billing stop, a 503 may be overload. The first
rule that matches wins; what no rule knows is an unclassified failure of low confidence.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hfr_bench.model.attempt import Fault, Observation
from hfr_bench.model.terms import Channel, FaultClass

_LOST = ("Timeout",)
_BROKEN = ("ConnectionClosed", "ConnectError")


@dataclass(frozen=True, slots=True)
class _Signal:
    """What the rules look at."""

    channel: Channel
    observation: Observation
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """`when` the signal looks like this, it is that class, this surely."""

    name: str
    when: Callable[[_Signal], bool]
    fault_class: FaultClass
    confidence: float = 1.0
    secondary: FaultClass | None = None


def _status(*codes: int) -> Callable[[_Signal], bool]:
    return lambda s: s.observation.status in codes


_RULES = (
    _Rule("no answer in time", lambda s: s.observation.exception in _LOST, FaultClass.TIMEOUT),
    _Rule(
        "connection ended", lambda s: s.observation.exception in _BROKEN, FaultClass.TRANSIENT, 0.9
    ),
    _Rule("context too long", lambda s: "context_length" in s.code, FaultClass.CONTEXT_OVERFLOW),
    _Rule("content policy", lambda s: "content_policy" in s.code, FaultClass.REFUSAL),
    _Rule("billing stop", lambda s: s.code == "insufficient_quota", FaultClass.PERMANENT),
    _Rule(
        "overloaded",
        lambda s: s.observation.status == 529 or "overloaded" in s.text,
        FaultClass.OVERLOAD,
    ),
    _Rule("rate limit", _status(429), FaultClass.RATE_LIMIT),
    _Rule("request timeout", _status(408), FaultClass.TIMEOUT, 0.9),
    _Rule("conflict", _status(409), FaultClass.TRANSIENT, 0.6),
    _Rule("not allowed", _status(401, 403), FaultClass.PERMANENT),
    _Rule(
        "tool unavailable",
        lambda s: s.channel is Channel.TOOL and (s.observation.status or 0) >= 500,
        FaultClass.TOOL_UNAVAILABLE,
        0.6,
        FaultClass.TRANSIENT,
    ),
    _Rule("server error", lambda s: (s.observation.status or 0) >= 500, FaultClass.TRANSIENT),
    _Rule(
        "bad request", lambda s: 400 <= (s.observation.status or 0) < 500, FaultClass.PERMANENT, 0.9
    ),
    _Rule(
        "unreadable answer",
        lambda s: (s.observation.status or 0) == 200,
        FaultClass.SEMANTIC,
        0.6,
        FaultClass.TRANSIENT,
    ),
)


def classify(channel: Channel, observation: Observation) -> Fault:
    """The fault class of a failed attempt, with confidence, evidence and any stated wait."""
    code, text = _error_words(observation.body)
    signal = _Signal(channel, observation, code, text)
    wait = retry_after_us(observation)
    for rule in _RULES:
        if rule.when(signal):
            return Fault(rule.fault_class, rule.confidence, rule.secondary, wait, rule.name)
    return Fault(FaultClass.TRANSIENT, 0.3, None, wait, "unclassified")


def retry_after_us(observation: Observation) -> int | None:
    """`Retry-After` in microseconds (RFC 9110 seconds form), or None."""
    stated = observation.headers.get("retry-after", "")
    try:
        seconds = float(stated)
    except ValueError:
        return None
    return math.ceil(seconds * 1_000_000) if 0 <= seconds < 1e9 else None


def _error_words(body: str) -> tuple[str, str]:
    """The error's code or type, and its message, in lower case; empty where there is none."""
    try:
        parsed: Any = json.loads(body) if body else None
    except (ValueError, RecursionError):
        return "", body[:400].lower()
    error = parsed.get("error") if isinstance(parsed, dict) else None
    if not isinstance(error, dict):
        return "", body[:400].lower()
    code = str(error.get("code") or error.get("type") or "").lower()
    return code, str(error.get("message") or "").lower()
