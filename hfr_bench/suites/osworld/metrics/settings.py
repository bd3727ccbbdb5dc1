"""Metrics of programs' own settings files."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hfr_bench.suites.osworld.metrics.matching import fits
from hfr_bench.suites.osworld.metrics.text import Rules, has_fields

_PREFERENCE = re.compile(r'^user_pref\("(?P<key>(?:[^"]|\\")+)", (?P<value>.+)\);$')
_CONDITION = re.compile(
    r"""\b(?:AND|OR) \((?:[\w ]+),(?:[\w ']+),(?:"(?:(?:[^"]|")+)"|(?:[^)]+))\)|\bALL\b"""
)
_QUOTED = {"name": 6, "enabled": 9, "type": 6, "action": 8, "actionValue": 13, "condition": 11}
"""Where a field's value begins in its line; upstream takes `enabled` with its quote."""


def _lines(path: str) -> list[str]:
    with Path(path).open(encoding="utf-8") as file:
        return list(file)


def check_config_status(result: str | None, rules: Rules) -> float:
    """Whether a line of GIMP's settings names `key` (one word or two) and ends with `value`."""
    if result is None:
        return 0.0
    keys = [rules["key"]] if isinstance(rules["key"], str) else rules["key"]
    for line in _lines(result):
        if line.startswith("#") or line == "\n":
            continue
        words = line.strip().lstrip("(").rstrip(")\n").split()
        begins = words[0] == keys[0] and (len(keys) == 1 or (words[1] == keys[1]))
        if len(keys) in {1, 2} and begins and words[-1] == rules["value"]:
            return 1.0
    return 0.0


def check_thunderbird_prefs(result: str | None, rules: Rules) -> float:
    """Whether preferences fit: `expect` and `unexpect`, each `{key: {method, ref}}`."""
    if result is None:
        return 0.0
    expect, unexpect = rules.get("expect", {}), rules.get("unexpect", {})
    found, clean = dict.fromkeys(expect, False), True
    for line in _lines(result):
        match = _PREFERENCE.match(line.strip())
        if match is None:
            continue
        key, value = match["key"], json.loads(match["value"])
        if key in expect:
            found[key] = fits(value, expect[key])
        elif key in unexpect:
            clean = clean and not fits(value, unexpect[key])
    return float(all(found.values()) and clean)


def check_thunderbird_filter(result: str | None, rules: Rules) -> float:
    """Whether some filter has the fields of each of `expect`, and none those of an `unexpect`."""
    if result is None:
        return 0.0
    filters = _filters(result)
    wanted = all(any(has_fields(r, one) for one in filters) for r in rules.get("expect", []))
    banned = any(has_fields(r, one) for one in filters for r in rules.get("unexpect", []))
    return float(wanted and not banned)


def _filters(path: str) -> list[Mapping[str, Any]]:
    """The filters of a file; one begins at its name and counts once its condition is read."""
    found: list[Mapping[str, Any]] = []
    one: dict[str, Any] = {}
    for line in _lines(path):
        key = line.partition("=")[0]
        if key not in _QUOTED or "=" not in line:
            continue
        if key == "name":
            one = {}
        value = line[_QUOTED[key] : -2].replace('\\"', '"').replace("\\\\", "\\")
        if key == "condition":
            one[key] = _CONDITION.findall(value)
            found.append(one)
        else:
            one[key] = value
    return found
