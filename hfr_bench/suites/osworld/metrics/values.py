"""Metrics of structured values: JSON, YAML, SQLite, what commands print."""

import ast
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from hfr_bench.suites.osworld.errors import UngradeableError
from hfr_bench.suites.osworld.metrics.matching import fits
from hfr_bench.suites.osworld.metrics.text import Rules

FAILED_GOLD = "__EVALUATION_FAILED__"
_ABSENT = (KeyError, TypeError)


def check_json(result: str | None, rules: Rules, is_yaml: bool = False) -> float:
    """Whether values at keys fit: `expect` and `unexpect`, each `[{key: […], method, ref}]`."""
    data = _data(result, is_yaml)
    if data is _UNREAD or (is_yaml and data is None):
        return 0.0
    try:
        for rule in rules.get("expect", []):
            if not fits(_at(data, rule["key"]), rule):
                return 0.0
        for rule in rules.get("unexpect", []):
            if fits(_at_or_none(data, rule["key"]), rule):
                return 0.0
    except UngradeableError:
        raise
    except Exception:  # noqa: BLE001 - upstream: whatever goes wrong in a rule is a 0
        return 0.0
    return 1.0


_UNREAD = object()


def _data(path: str | None, is_yaml: bool) -> Any:
    if path is None:
        return _UNREAD
    try:
        text = Path(path).read_text("utf-8")
        return yaml.safe_load(text) if is_yaml else json.loads(text)
    except (OSError, ValueError, yaml.YAMLError):
        return _UNREAD


def _at(data: Any, keys: Sequence[Any]) -> Any:
    for key in keys:
        data = data[key]
    return data


def _at_or_none(data: Any, keys: Sequence[Any]) -> Any:
    try:
        return _at(data, keys)
    except _ABSENT:
        return None


def check_direct_json_object(result: Any, rules: Rules) -> float:
    """Whether an object has the fields of `expected`; a text is read as one, quotes mended.

    `expect_in_result`: a text need only be part of the field, of a list one item be there.
    """
    if isinstance(result, str):
        result = json.loads(result.strip().replace("'", '"'))
    if result is None:
        return 0.0
    try:
        expected = rules.get("expected", {})
        if expected and FAILED_GOLD in [v for v in expected.values() if isinstance(v, str)]:
            return 0.0
        holds = _part_of if rules.get("expect_in_result", False) else _whole
        return float(all(holds(result, expected, key) for key in rules["expected"]))
    except Exception:  # noqa: BLE001 - upstream: whatever goes wrong is a 0
        return 0.0


def _whole(result: Rules, expected: Rules, key: str) -> bool:
    if expected.get("ignore_list_order", False):
        return sorted(expected[key]) == sorted(result[key])
    return bool(expected[key] == result.get(key))


def _part_of(result: Rules, expected: Rules, key: str) -> bool:
    wanted, found = expected[key], result.get(key)
    if isinstance(wanted, list):
        if isinstance(found, list):
            return any(item in found for item in wanted)
        return isinstance(found, str) and found in wanted
    return isinstance(wanted, str) and found is not None and wanted in found


def is_included_all_json_objects(gold: str | None, result: str | None) -> float:
    """Whether a JSON file has all the fields of another."""
    if not gold or not result:
        return 0.0
    wanted, found = (json.loads(Path(path).read_text("utf-8")) for path in (gold, result))
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        raise TypeError("a file holds no object")
    return float(all(key in found and found[key] == wanted[key] for key in wanted))


def check_json_settings(result: str | None, rules: Rules, **_: Any) -> float:
    """Whether a JSON file has the fields of `expected`."""
    if not result:
        return 0.0
    try:
        found = json.loads(Path(result).read_text("utf-8"))
    except (OSError, ValueError):
        return 0.0
    return float(all(k in found and found[k] == v for k, v in rules["expected"].items()))


def check_json_keybindings(result: str, rules: Rules, **_: Any) -> float:
    """Whether `expected` is in a file's list, which a comment's line may precede."""
    try:
        text = Path(result).read_text("utf-8")
    except (OSError, ValueError, TypeError):
        return 0.0
    for part in (text, text.partition("\n")[2]):
        try:
            found = json.loads(part)
        except ValueError:
            continue
        if isinstance(found, list):
            return float(rules["expected"] in found)
    return 0.0


def run_sqlite3(result: str, rules: Rules) -> float:
    """The first value that `sql` selects in a database."""
    connection = sqlite3.connect(result)
    try:
        return float(connection.execute(rules["sql"]).fetchone()[0] or 0)
    finally:
        connection.close()


def check_moved_jpgs(result: Mapping[str, Any], rules: Rules) -> float:
    """Whether a folder holds `expected`, no more and no less."""
    names = [node["name"] for node in result["children"]]
    return _same(names, rules["expected"])


def check_gnome_favorite_apps(result: str, rules: Rules) -> float:
    """Whether the dock's list names `expected`, in whatever order."""
    return _same(ast.literal_eval(result.strip()), rules["expected"])


def _same(found: Sequence[str], expected: Sequence[str]) -> float:
    return float(len(found) == len(expected) and set(found) == set(expected))


def is_utc_0(result: str) -> float:
    """Whether the time zone that timedatectl prints is UTC."""
    return float(result.split("\n")[3].endswith("+0000)"))


def check_text_enlarged(result: str) -> float:
    """Whether a scale is above 1."""
    return float(float(result) > 1.0)


def is_in_vm_clickboard(rules: Rules, terminal: str) -> float:
    """Whether a text holds `expected`, or each of them."""
    wanted = rules["expected"]
    parts = wanted if isinstance(wanted, list) else [wanted]
    return float(all(part in terminal for part in parts))
