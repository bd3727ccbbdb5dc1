"""WebArena-Verified's check of the answer: strict JSON with task type, status and typed data. Pure.

```
{"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [...], "error_details": null}
```

Only a retrieve task's data counts; an honest `NOT_FOUND_ERROR` is right where it is expected.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from hfr_bench.suites.webarena.shape import Reader, difference
from hfr_bench.suites.webarena.typed import typed
from hfr_bench.suites.webarena.urls import Reading
from hfr_bench.suites.webarena.verdict import Check

NAME = "AgentResponseEvaluator"
_FENCED = re.compile(r"```(?:json)?\s*\n?(.*?)\n?```", re.DOTALL)
_OLD_NAME = "performed_operation"
"""What `task_type` was called once; still read."""


def check_answer(grading: Mapping[str, Any], answer: str | None, reading: Reading) -> Check:
    """Whether the answer is the expected one."""
    try:
        expected = _expected(grading, reading)
    except (ValueError, TypeError) as error:
        return Check(NAME, False, f"the task's own answer cannot be read: {error}")
    actual = _actual(grading, read_answer(answer), reading)
    if isinstance(actual, str):
        return Check(NAME, False, actual)
    retrieves = is_retrieve(grading)
    wanted, data = expected["retrieved_data"], actual.get("retrieved_data")
    found = difference({**expected, "retrieved_data": None}, {**actual, "retrieved_data": None})
    if not found and "retrieved_data" not in actual:
        found = "the task expects no data, and Verified fails whoever gives none"
    if not found and retrieves:
        found = difference(
            wanted, data or None, ordered=bool(grading.get("ordered")), at="retrieved_data"
        )
    return Check(NAME, not found, found, _hedged(grading, answer) if not found else "")


def _hedged(grading: Mapping[str, Any], answer: str | None) -> str:
    """Whether an answer that passed names alternatives or a pattern; the rule takes both."""
    value = read_answer(answer)
    data = value.get("retrieved_data") if isinstance(value, Mapping) else None
    items = (grading.get("results_schema") or {}).get("items") or {}
    if not is_retrieve(grading) or not isinstance(data, list):
        return ""
    hedged = any(_several(item, items) for item in data)
    if hedged:
        return "the answer lists alternatives, of which one fits"
    wild = '"^' in json.dumps(data) and '$"' in json.dumps(data)
    return "the answer gives a pattern, which matches" if wild else ""


def _several(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a list stands where the schema has one value."""
    if isinstance(value, Mapping):
        properties = schema.get("properties") or {}
        return any(_several(held, properties.get(name) or {}) for name, held in value.items())
    plain = schema.get("type") != "array" and schema.get("format") != "coordinates"
    return isinstance(value, list) and plain


def is_retrieve(grading: Mapping[str, Any]) -> bool:
    """Whether the task is to tell something."""
    return str(grading["expected"]["task_type"]).upper() == "RETRIEVE"


def read_answer(answer: str | None) -> Any:
    """An answer as it is compared: the JSON in it (also in a fenced block), else the text."""
    if answer is None:
        return None
    found = _FENCED.search(answer)
    text = (found.group(1) if found else answer).strip()
    try:
        return json.loads(text) or None
    except ValueError:
        return text or None


def _expected(grading: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
    expected = grading["expected"]
    data = _data(grading, expected.get("retrieved_data"), Reader(reading, strict=True))
    return {
        "task_type": typed(expected["task_type"], "string", reading),
        "status": typed(expected["status"], "string", reading),
        "retrieved_data": data,
    }


def _actual(grading: Mapping[str, Any], value: Any, reading: Reading) -> dict[str, Any] | str:
    """An answer read, or what is wrong with it."""
    if not isinstance(value, Mapping):
        return f"no JSON object, but {value!r:.80}"
    found: dict[str, Any] = {}
    for name in ("task_type", "status"):
        source = _OLD_NAME if name == "task_type" and name not in value else name
        if source not in value:
            continue
        if not isinstance(value[source], str):
            return f"{name} must be text, not {value[source]!r:.80}"
        text = value[source].strip()
        found[name] = typed(text, "string", reading) if text else None
    if "retrieved_data" in grading["expected"]:
        data = value.get("retrieved_data") if is_retrieve(grading) else None
        try:
            found["retrieved_data"] = _data(grading, data, Reader(reading, strict=False))
        except (ValueError, TypeError) as error:
            return f"retrieved_data: {error}"
    return found


def _data(grading: Mapping[str, Any], data: Any, reader: Reader) -> tuple[Any, ...] | None:
    """Retrieved data by the task's schema; nothing, also an empty list, is None."""
    if not data and not isinstance(data, int | float):
        return None
    items = tuple(data) if isinstance(data, list | tuple) else (data,)
    return reader.array(items, grading.get("results_schema") or {})
