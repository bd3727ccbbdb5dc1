"""Signals -> fault class, confidence and evidence (paper tables 2, 4 and 11; §4.2, §5.3).

Status codes alone are not enough: a 429 may be a billing stop, a 503 or a 429 may be overload, a
200 may be a refusal. In this order: how the connection ended; what codes and words tell (where
several classes match, the most dangerous is the primary); then what the status alone means. What
nothing knows is an unclassified failure of low confidence.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from json import JSONDecodeError, JSONDecoder
from json.scanner import make_scanner
from typing import Any, cast

from hfr_bench.model.attempt import Fault, Observation
from hfr_bench.model.terms import Channel, FaultClass
from hfr_bench.recovery.classifier import families as known
from hfr_bench.recovery.classifier import statuses
from hfr_bench.recovery.classifier.dialects import BY_CODE, ORDINARY, Dialect
from hfr_bench.recovery.classifier.families import RANK, T1, T2, T3, T4, T5, T6, T7, V1, Means
from hfr_bench.recovery.classifier.hints import retry_after_us
from hfr_bench.recovery.classifier.replies import Reply, judge, reply_of_body, reply_of_message
from hfr_bench.recovery.classifier.signals import Signal, at, parse, plain, signal

__all__ = ["classify", "flaw", "readable", "retry_after_us"]

# Failures of one shape come again and again: the last few of this size are remembered.
_SMALL_BODY, _FEW_HEADERS, _REMEMBERED = 512, 4, 256
_LONG_US = 30_000_000  # an empty answer after that long is a timeout in disguise (§4.2)
_NO_KIND = "an error of no known kind"
_UNCLASSIFIED = Means(T1, 0.3), "unclassified"
# `json.loads` without what it does around it; a scanner asks any decoder-like object.
_SCAN: Callable[[str, int], tuple[Any, int]] = make_scanner(cast("Any", JSONDecoder()))
_MODEL, _TOOL = Channel.MODEL, Channel.TOOL

Finding = tuple[Means, str]
"""A meaning, and the name of the rule that found it."""
Coded = tuple[Means, str, bool]
"""Of a code: its meaning, the rule, and whether that is a dialect's own row."""


def classify(channel: Channel, observation: Observation) -> Fault:
    """The fault class of a failed attempt, with confidence, evidence and any stated wait."""
    body, headers = observation.body, observation.headers
    if len(body) > _SMALL_BODY or len(headers) > _FEW_HEADERS:
        return _classified(channel, observation)
    shape = (
        observation.status, observation.exception, observation.sent, body,
        tuple(headers.items()) if headers else (),
        observation.latency_us >= _LONG_US, observation.exit_code, observation.rpc_code,
        observation.schema_error, observation.phase,
    )  # fmt: skip
    try:
        return _remembered(channel is _MODEL, shape)
    except TypeError:  # a header that is no text, and cannot be a key
        return _classified(channel, observation)


def flaw(channel: Channel, observation: Observation, *, after_write: bool = False) -> Fault | None:
    """What is wrong with an *answered* attempt, or None (paper §5.4, hook 2; §3.2: silent ones).

    A policy stop, an answer cut short, a tool call that cannot be read, an empty answer, or an
    error inside a 200. `after_write`: a side effect was just completed, so a model that ends its
    turn without a word has nothing left to say; that is no failure. A tool's domain error is an
    answer, for the agent.
    """
    if channel is _MODEL:
        if _in_order(observation):
            return None
        return _model_flaw(observation, after_write)
    if observation.domain_error:
        return None
    if not (observation.exit_code or observation.rpc_code or observation.schema_error):
        body = observation.body
        if "rror" not in body:  # neither `error` nor `isError`; one look is all that it costs
            return None
    return _tool_flaw(observation)


def readable(channel: Channel, body: str) -> bool:
    """Whether a success holds an answer that some client could read; its flaws are for `flaw`."""
    form, data = parse(body)
    if channel is _TOOL:
        return form not in ("", "cut", "html")
    return form == "json" and reply_of_body(data) is not None


def _classified(channel: Channel, observation: Observation) -> Fault:
    wait_us = retry_after_us(observation)
    return _fault(_decide(signal(channel, observation), wait_us), wait_us)


@lru_cache(_REMEMBERED)
def _remembered(is_model: bool, shape: tuple[Any, ...]) -> Fault:
    """The fault of an observation of this shape: all that a failure's class depends on.

    Pure in spite of its memory: an answer depends on the arguments alone, and nobody changes one.
    """
    status, exception, sent, body, headers, long, exit_code, rpc_code, schema_error, phase = shape
    seen = Observation(
        answered=False, status=status, exception=exception, sent=sent, headers=dict(headers),
        body=body, latency_us=_LONG_US if long else 0, exit_code=exit_code, rpc_code=rpc_code,
        schema_error=schema_error, phase=phase,
    )  # fmt: skip
    return _classified(_MODEL if is_model else _TOOL, seen)


def _in_order(observation: Observation) -> bool:
    """The ordinary answer of a model, told without reading its body."""
    message = observation.payload
    if (
        type(message) is not dict
        or observation.finish_reason not in ORDINARY
        or observation.schema_error
        or message.get("refusal")
    ):
        return False
    calls = message.get("tool_calls")
    if not calls:
        text = message.get("content")
        return type(text) is str and text != "" and not text.isspace()
    try:
        for call in calls:
            function = call["function"]
            text = function["arguments"]
            value, end = _SCAN(text, 0)
            if end != len(text) or type(value) is not dict or not function["name"]:
                return False
    except (StopIteration, JSONDecodeError, LookupError, TypeError, RecursionError):
        return False
    return True


def _model_flaw(observation: Observation, after_write: bool) -> Fault | None:
    if observation.schema_error:
        return Fault(V1, 0.9, evidence="does not fit the schema", repairable=True)
    seen = signal(_MODEL, observation)
    if seen.failed:
        wait_us = retry_after_us(observation)
        return _fault(_decide(seen, wait_us), wait_us)
    payload = observation.payload
    if isinstance(payload, dict):
        answer: Reply | None = reply_of_message(payload, observation.finish_reason)
    else:
        answer = reply_of_body(seen.data)
    if answer is None:
        if payload:
            return None  # the client could read it, and it does not look like an error
        answer = Reply(finish=observation.finish_reason)
    found = judge(answer, after_write=after_write)
    return None if found is None else _fault(found, None)


def _tool_flaw(observation: Observation) -> Fault | None:
    """Of a tool's answer that is not marked as a domain error: broken contracts, hidden errors."""
    seen = signal(_TOOL, observation)
    code = observation.exit_code
    named = seen.rpc_code is not None or observation.schema_error or code
    hidden = seen.failed and (
        seen.status != observation.status
        or any(_telling(seen, _codes(seen), None))
        or "isError" in observation.body
    )
    if not (named or hidden):
        return None  # an error by the tool's own rules: the agent reads it
    wait_us = retry_after_us(observation)
    return _fault(_decide(seen, wait_us), wait_us)


def _fault(found: Finding, wait_us: int | None) -> Fault:
    means, name = found
    secondary = means.secondary if means.secondary is not means.fault_class else None
    return Fault(means.fault_class, means.confidence, secondary, wait_us, name, means.repairable)


def _decide(seen: Signal, wait_us: int | None) -> Finding:
    found = _transport(seen)
    if found is None:
        codes = _codes(seen)
        telling = list(_telling(seen, codes, wait_us))
        found = _riskiest(telling) if telling else _plain_failure(seen, codes)
    return _for_tool(seen, found) if seen.channel is _TOOL else found


def _transport(seen: Signal) -> Finding | None:
    """How the connection ended, where no whole response came."""
    name = seen.seen.exception
    if not name or (seen.status or 0) >= 400:
        return None
    plain_name = plain(name)
    for family in statuses.EXCEPTIONS:
        if family.says(plain_name):
            break
    else:
        return None
    means = family.means
    if means.fault_class is not T7 and _unsent(seen.seen, plain_name):
        # Nothing left us, so nothing can have happened: not an unknown outcome.
        return Means(T1, 0.95, T3 if means.fault_class is T3 else None), "never connected"
    return means, family.name


def _unsent(observation: Observation, name: str) -> bool:
    return not observation.sent or observation.phase == "connect" or (
        "timeout" in name and ("connect" in name or "pool" in name) and "connection" not in name
    )  # fmt: skip


def _telling(seen: Signal, codes: list[Coded], wait_us: int | None) -> Iterator[Finding]:
    """What codes, numbers and words say beyond the status."""
    for means, name, _ in codes:
        if not means.vague:
            yield means, name
    if seen.rpc_code is not None:
        means = statuses.RPC.get(seen.rpc_code, statuses.RPC_OTHER)
        yield means, f"json-rpc {seen.rpc_code}"
        if known.AUTH.says(seen.words):
            yield known.AUTH.means, known.AUTH.name
    if not seen.words:
        return
    too_much = _asks_more_than_the_limit(seen.words)
    if too_much:
        yield Means(T6, 0.9), "asks for more than the limit"
    for family in known.WORDS:
        if family.only and seen.status not in family.only:
            continue
        if not family.says(seen.words):
            continue
        if family is known.PLAN and (wait_us is not None or _fills_up_again(seen, codes)):
            continue  # a free tier's passing limit says the same as an empty purse
        if family.means.fault_class is T6 and (
            too_much is False or known.OUTPUT_LIMIT.search(seen.words)
        ):
            continue
        yield family.means, family.name


def _fills_up_again(seen: Signal, codes: list[Coded]) -> bool:
    """Does anything else say that the limit is one per time?"""
    return known.PER_TIME.search(seen.words) is not None or any(
        means.fault_class is T2 and (by_dialect or not means.vague)
        for means, _, by_dialect in codes
    )


def _asks_more_than_the_limit(words: str) -> bool | None:
    """One request is larger than a limit per time (True), or fits into it; None: not told."""
    found = known.LIMIT_AND_REQUEST.search(words) if "requested" in words else None
    if found is None:
        return None
    limit, asked = (
        int("0" + "".join(c for c in part if c in "0123456789")) for part in found.groups()
    )
    return asked > limit


def _codes(seen: Signal) -> list[Coded]:
    return [one for one in (_code(seen, code) for code in seen.codes) if one is not None]


def _code(seen: Signal, code: str) -> Coded | None:
    """What a code means, by the row of a dialect that is spoken here or by its family."""
    for dialect, means in BY_CODE.get(code, ()):
        if _speaks(seen, dialect):
            return means, f"{dialect.name}: {code}", True
    for family in known.CODES:
        if family.says(code):
            return family.means, family.name, False
    return None


def _speaks(seen: Signal, dialect: Dialect) -> bool:
    """Has the response a shape of this dialect?"""
    for header, path, wanted in dialect.shapes:
        if path:
            value = at(seen.data, path)
            if value is not None and wanted in ("", type(value).__name__, value):
                return True
        else:
            for name in seen.seen.headers:
                if name.startswith(header):
                    return True
    return False


def _riskiest(found: list[Finding]) -> Finding:
    """One finding of several: the most dangerous class, the next one as secondary (§4.2)."""
    best: dict[FaultClass, Finding] = {}
    for one in found:
        mine = best.get(one[0].fault_class)
        if mine is None or one[0].confidence > mine[0].confidence:
            best[one[0].fault_class] = one
    first, *rest = sorted(best.values(), key=lambda one: RANK[one[0].fault_class])
    if not rest:
        return first
    confidence = min(first[0].confidence, 0.9)
    return first[0]._replace(confidence=confidence, secondary=rest[0][0].fault_class), first[1]


def _plain_failure(seen: Signal, codes: list[Coded]) -> Finding:
    """What the status alone means, with the vague codes that repeat it."""
    observation = seen.seen
    if observation.schema_error:
        fits = T5 if seen.channel is _TOOL else V1
        return Means(fits, 0.9, repairable=True), "does not fit the schema"
    by_code: Finding | None = codes[0][:2] if codes else None
    if (seen.status or 0) < 500 and known.AUTH.says(seen.words):
        by_code = known.AUTH.means, known.AUTH.name
    if observation.exit_code:
        exits = statuses.EXITS.get(observation.exit_code, statuses.EXIT_OTHER)
        return exits, f"exit code {observation.exit_code}"
    by_status = _status(seen)
    if by_status is None:
        return by_code or _unreadable(seen)
    if by_code is None or by_code[0].fault_class is by_status[0].fault_class:
        if by_code and not by_code[0].repairable:
            return by_status[0]._replace(repairable=False), by_status[1]
        return by_status
    if (
        by_code[0].fault_class is T1
        or RANK[by_code[0].fault_class] > RANK[by_status[0].fault_class]
    ):
        return by_status
    return by_code[0]._replace(confidence=0.7, secondary=by_status[0].fault_class), by_code[1]


def _status(seen: Signal) -> Finding | None:
    status = seen.status or 0
    means = statuses.STATUSES.get(status)
    if means is not None:
        return means, f"status {status}"
    if status >= 500:
        slow = seen.seen.latency_us >= _LONG_US
        return statuses.SERVER_ERROR._replace(secondary=T3 if slow else None), "server error"
    return (statuses.CLIENT_ERROR, "client error") if status >= 400 else None


def _unreadable(seen: Signal) -> Finding:
    """No error is told, but no answer could be read either."""
    observation = seen.seen
    if observation.exception and statuses.UNPARSED.search(plain(observation.exception)):
        return Means(T1, 0.7, V1), "unreadable answer"
    if seen.failed:
        return Means(T5 if seen.channel is _TOOL else T1, 0.5, V1), _NO_KIND
    if seen.status is None or not 200 <= seen.status < 300:
        return _UNCLASSIFIED
    if not seen.form:
        if observation.latency_us >= _LONG_US:
            return Means(T3, 0.7, T1), "empty answer after a long wait"
        return Means(T1, 0.9), "empty answer"
    if seen.form == "cut":
        return Means(T1, 0.9, V1), "answer cut off"
    if seen.form in ("json", "events"):
        answer = reply_of_body(seen.data)
        found = None if answer is None else judge(answer)
        return found or (Means(V1, 0.6, T1), "not the answer that was asked for")
    return Means(T1, 0.8, V1), "unreadable answer"


def _for_tool(seen: Signal, found: Finding) -> Finding:
    """What is different about tools: their 5xx and overload are theirs, their fields a contract."""
    means, name = found
    if means.fault_class is T4:
        return Means(T5, min(means.confidence, 0.8), T4), name
    if seen.status == statuses.NOT_BUILT:
        return Means(T5, 0.8, T7), "tool unavailable"
    if means.fault_class is T1 and (seen.status or 0) >= 500:
        return Means(T5, statuses.TOOL_DOWN, means.secondary or T1), "tool unavailable"
    mended = means.repairable or name == _NO_KIND
    if mended and means.fault_class in (T5, T7) and known.FIELDS.search(seen.words):
        return Means(T5, 0.8, T7, repairable=True), "arguments do not fit the contract"
    return found
