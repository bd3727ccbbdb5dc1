"""How upstream holds a value against a rule `{method, ref}`."""

import operator
import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from hfr_bench.suites.osworld.errors import UngradeableError

_COMPARISONS = {"eq", "ne", "le", "lt", "ge", "gt"}
METHODS = "re[.FLAG], eq, ne, le, lt, ge, gt, approx:N, range.XY, str_list_eq, str_set_eq"


def fits(value: Any, rule: Mapping[str, Any]) -> bool:
    """Whether a value fits. Raises UngradeableError: no such method; TypeError as upstream."""
    method, ref = rule["method"], rule["ref"]
    if method in _COMPARISONS:
        return bool(_comparison(method)(value, ref))
    if method.startswith("re"):
        flags = (re.RegexFlag[name] for name in method.split(".")[1:])
        return re.search(ref, value, reduce(operator.or_, flags, re.RegexFlag(0))) is not None
    if method.startswith("approx"):
        return _near(value, ref, float(method.split(":")[1]))
    if method.startswith("range."):
        lower, upper = _comparison("l" + method[6]), _comparison("l" + method[7])
        return bool(lower(ref[0], value) and upper(value, ref[1]))
    if method in {"str_list_eq", "str_set_eq"}:
        parts = value.strip("\"'").split(",")
        return set(parts) == set(ref) if method == "str_set_eq" else list(parts) == list(ref)
    raise UngradeableError(f"no method {method!r}: there are {METHODS}")


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    found: Callable[[Any, Any], Any] = getattr(operator, name)
    return found


def _near(value: Any, ref: float, limit: float) -> bool:
    try:
        return abs(float(value) - ref) <= limit
    except (ValueError, TypeError):
        return False
