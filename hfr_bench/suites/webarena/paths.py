"""The few JSONPath forms that the public tasks use, to pick values of a request's or answer's body.

```
$.note.note    $['a-b'].c    $.actions[0].content    $['m'][?(@.new == 1)].x    $.^regex$
```

The last one is Verified's own: the value of the top-level name that matches.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from hfr_bench.suites.webarena.urls import is_pattern

_STEP = re.compile(
    r"\.(?P<name>[^.\[\]]+)|\[(?P<index>-?\d+)\]|\['(?P<quoted>[^']*)'\]"
    r"|\[\?\(@\.(?P<key>\w+)\s*==\s*(?P<value>[^)]+)\)\]"
)


def is_path(name: str) -> bool:
    """Whether a name is a path: it begins with `$`, or is a pattern."""
    return name.startswith("$") or is_pattern(name)


def pick(data: Any, path: str) -> Any:
    """What a path finds: None for nothing, a tuple if it finds several or filters.

    A body may hold JSON in a string: if nothing is found, such strings are looked into. Raises
    ValueError for a form that is not among the five.
    """
    if path.startswith("$.^") and path.endswith("$"):
        return _by_name(data, path[2:])
    if is_pattern(path):
        return _by_name(data, path)
    steps = _steps(path)
    found = _walk([data], steps) or _walk([_opened(data)], steps)
    if not found:
        return None
    return found[0] if len(found) == 1 and "?(" not in path else tuple(found)


def _steps(path: str) -> list[re.Match[str]]:
    steps, place = [], 1
    while place < len(path):
        step = _STEP.match(path, place)
        if not step:
            raise ValueError(f"no path that can be read: {path!r}, from {path[place:]!r}")
        steps.append(step)
        place = step.end()
    return steps


def _walk(values: list[Any], steps: list[re.Match[str]]) -> list[Any]:
    for step in steps:
        values = [found for value in values for found in _one(value, step)]
    return values


def _one(value: Any, step: re.Match[str]) -> list[Any]:
    name = step["name"] if step["name"] is not None else step["quoted"]
    if name is not None:
        return [value[name]] if isinstance(value, Mapping) and name in value else []
    if step["index"] is not None:
        index = int(step["index"])
        held = isinstance(value, list) and -len(value) <= index < len(value)
        return [value[index]] if held else []
    wanted = _literal(step["value"].strip())
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, Mapping) and item.get(step["key"]) == wanted]


def _literal(text: str) -> Any:
    try:
        return json.loads(text.replace("'", '"'))
    except ValueError:
        return text


def _by_name(data: Any, pattern: str) -> Any:
    if not isinstance(data, Mapping):
        return None
    found = [value for name, value in data.items() if re.match(pattern, str(name))]
    return None if not found else found[0] if len(found) == 1 else tuple(found)


def _opened(data: Any) -> Any:
    """The same with JSON in strings read, to the depth of the first such string."""
    if isinstance(data, Mapping):
        return {name: _read(value) for name, value in data.items()}
    return [_opened(item) for item in data] if isinstance(data, list) else data


def _read(value: Any) -> Any:
    if not isinstance(value, str):
        return _opened(value)
    try:
        return json.loads(value)
    except ValueError:
        return value
