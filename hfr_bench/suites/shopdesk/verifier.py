"""Strategy-side checks of the desk, V0 to V2: from the public task and what the agent has seen.

V0 transport: the answer is there, it is JSON, and the call fits the tool's parameters.
V1 deterministic: the arguments hold against what was read (the order was seen and is open, the
   refund is within what is left of it and within the limit or its approval), and the answer says
   what was asked for.
V2 semantic: a second look at the world, through the tool's own reconcile read.

No grader, no solution and no expected effect is within reach here. What cannot be told from what
was seen passes, with half the quality.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hfr_bench.model.attempt import Verdict
from hfr_bench.model.task import TaskSpec, ToolSpec
from hfr_bench.model.terms import CheckLevel
from hfr_bench.ports.verifier import Check
from hfr_bench.suites._verifying import LEVELS, UNDECIDED, JudgeLanded, second_look, unanswered

Row = dict[str, Any]

OPEN = ("placed", "packed")
OF_OPEN_ORDERS = ("cancel_order", "set_shipping", "toggle_gift_wrap")
TYPES = {"string": str, "integer": int}


class DeskVerifier:
    """Implements `ports.verifier.Verifier` for one task."""

    levels = LEVELS

    def __init__(self, task: TaskSpec, landed: JudgeLanded) -> None:
        self._task = task
        self._landed = landed

    def verify(self, level: CheckLevel, check: Check) -> Verdict:
        spec = self._task.tool(check.tool)
        if spec is None:
            return Verdict(level, passed=False, quality=0.0, reasons=(f"no tool {check.tool}",))
        match level:
            case CheckLevel.TRANSPORT:
                return _verdict(level, _transport(spec, check))
            case CheckLevel.DETERMINISTIC:
                return _verdict(level, _against_what_was_read(check))
            case CheckLevel.SEMANTIC:
                if spec.reconcile is None and not spec.level.writes:
                    return _verdict(level, ())
                return second_look(spec, check, self._landed, check.tool)
        raise ValueError(f"level {level}: there are {', '.join(self.levels)}")


def _verdict(level: CheckLevel, found: Iterable[str | None]) -> Verdict:
    """Passed if nothing was found; a None among what was found could not be decided."""
    listed = tuple(found)
    reasons = tuple(reason for reason in listed if reason is not None)
    undecided = len(reasons) < len(listed)
    quality = 0.0 if reasons else UNDECIDED if undecided else 1.0
    return Verdict(level, not reasons, quality, reasons, undecided=undecided and not reasons)


def _transport(spec: ToolSpec, check: Check) -> Iterable[str]:
    schema = spec.parameters
    for name in schema["required"]:
        if check.arguments.get(name) is None:
            yield f"{name} is missing"
    for name, value in check.arguments.items():
        rule = schema["properties"].get(name)
        if rule is None:
            yield f"{name} is no parameter of {spec.name}"
        elif value is not None and not _fits(rule, value):
            yield f"{name} = {value!r} does not fit {rule}"
    seen = check.observation
    if seen is not None and not seen.answered:
        yield unanswered(seen)
    elif seen is not None and not seen.domain_error and _object(seen.body) is None:
        yield "the answer is no JSON object"


def _fits(rule: Mapping[str, Any], value: Any) -> bool:
    if not isinstance(value, TYPES[rule["type"]]) or isinstance(value, bool):
        return False
    if "enum" in rule and value not in rule["enum"]:
        return False
    return bool(rule.get("minimum", value) <= value <= rule.get("maximum", value))


def _against_what_was_read(check: Check) -> Iterable[str | None]:
    """Reasons against the call; None where what was seen does not tell."""
    args, seen = check.arguments, _Seen(check)
    if check.tool in (*OF_OPEN_ORDERS, "refund") and (order_id := args.get("order_id")):
        order = seen.order(str(order_id))
        if order is None:
            yield None
        elif check.tool in OF_OPEN_ORDERS and order["status"] not in OPEN:
            yield f"{order_id} is {order['status']}"
        elif check.tool == "refund":
            yield from _refund(order, args.get("amount_cents"), seen)
    if check.tool == "place_order":
        yield from _order(args, seen)
    yield from _says_it(check)


def _refund(order: Row, amount: Any, seen: "_Seen") -> Iterable[str | None]:
    if not isinstance(amount, int):
        yield "amount_cents is no number"
        return
    most: int = order["refundable_cents" if "refundable_cents" in order else "total_cents"]
    if amount > most:
        yield f"{amount} is more than what is left of {order['id']}"
    limit = seen.limit()
    if limit is None:
        yield None
    elif amount > limit and not seen.approved(order["id"], amount):
        yield f"{amount} is above the limit of {limit}, and no approval was seen"


def _order(args: Mapping[str, Any], seen: "_Seen") -> Iterable[str | None]:
    """The customer must be one that was looked at; the product, one that was seen."""
    if args.get("customer_id") not in seen.values("customer_id", "id"):
        yield f"customer {args.get('customer_id')} was never looked at"
    if args.get("sku") not in seen.values("sku"):
        yield None


def _says_it(check: Check) -> Iterable[str]:
    """What the answer says of an argument must be that argument."""
    seen = check.observation
    answer = _object(seen.body) if seen is not None and not seen.domain_error else None
    for name, value in check.arguments.items():
        if answer is not None and name in answer and answer[name] != value:
            yield f"asked for {name} = {value!r}, the answer says {answer[name]!r}"


class _Seen:
    """What the agent has been told in this trial, the newest first."""

    def __init__(self, check: Check) -> None:
        self._answers = [(one.tool, _object(one.body)) for one in reversed(check.history)]

    def order(self, order_id: str) -> Row | None:
        """The order as it was told last."""
        return next((row for row in self._rows() if row.get("id") == order_id), None)

    def limit(self) -> int | None:
        """What may be refunded without an approval."""
        for row in self._rows():
            if row.get("topic") == "refunds":
                return int(row["limit_cents"])
        return None

    def approved(self, order_id: str, amount: int) -> bool:
        """Whether an approval that covers the amount was seen."""
        return any(
            row.get("status") == "approved"
            and row.get("order_id") == order_id
            and row.get("amount_cents", 0) >= amount
            for row in self._rows()
        )

    def values(self, *columns: str) -> set[Any]:
        """All that was told under these names."""
        return {row.get(column) for row in self._rows() for column in columns}

    def _rows(self) -> Iterable[Row]:
        for _tool, answer in self._answers:
            if answer is not None:
                yield answer
                for value in answer.values():
                    if isinstance(value, list):
                        yield from (row for row in value if isinstance(row, dict))


def _object(body: str) -> Row | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
