"""Metrics of texts and lists. Each gives 0 to 1; a file that the guest did not give is 0."""

import csv
import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hfr_bench.suites.osworld.errors import UngradeableError

Rules = Mapping[str, Any]
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)")
_ENCODINGS = ("utf-8", "latin-1")  # upstream tries five more, which latin-1 never lets be reached


def _read(path: str) -> str:
    return Path(path).read_text("utf-8")


def read_lines(path: str) -> list[str]:
    """The lines of a file in whatever encoding. Raises OSError."""
    for encoding in _ENCODINGS:
        try:
            with Path(path).open(encoding=encoding) as file:
                return file.read().splitlines()
        except UnicodeDecodeError:
            continue
    raise AssertionError("latin-1 reads every byte")


def check_include_exclude(result: Any, rules: Rules) -> float:
    """Whether a text holds all of `include` and none of `exclude`."""
    if result is None:
        return 0.0
    found = all(part in result for part in rules.get("include", []))
    return float(found and all(part not in result for part in rules.get("exclude", [])))


def exact_match(result: Any, rules: Rules) -> float:
    """Whether a value equals `expected`."""
    return float(result == rules["expected"])


def match_in_list(result: Any, rules: Rules) -> float:
    """Whether a value is one of `expected`."""
    return float(result in rules["expected"])


def is_in_list(result: Any, rules: Rules) -> float:
    """Whether `expected` is in a list or text."""
    return float(rules["expected"] in result)


def literal_match(result: Any, expected: Any, **options: Any) -> float:
    """Whether values print alike: `type` str or list, `ignore_case`."""
    kind, fold = options.get("type", "str"), options.get("ignore_case", False)

    def shown(value: Any) -> str:
        return str(value).lower() if fold else str(value)

    if kind == "str":
        return float(shown(result) == shown(expected))
    if kind != "list":
        raise UngradeableError(f"no type {kind!r} of literal_match: there are str and list")
    if not (isinstance(result, list | tuple) and isinstance(expected, list | tuple)):
        return 0.0
    return float([shown(item) for item in result] == [shown(item) for item in expected])


def diff_text_file(result: str | None, expected: str) -> float:
    """The share of lines that two files have in common, in order."""
    if result is None:
        return 0.0
    lines = [_read(path).splitlines() for path in (result, expected)]
    return difflib.SequenceMatcher(a=lines[0], b=lines[1]).ratio()


def compare_text_file(result: str | None, expected: str, **options: Any) -> float:
    """Whether two files hold the same text: `ignore_blanks`, `ignore_case`."""
    if not result:
        return 0.0
    texts = [_read(path) for path in (result, expected)]
    if options.get("ignore_blanks", False):
        texts = [re.sub(r"\s+", " ", re.sub(r"[\t\n]", " ", text).strip()) for text in texts]
    if options.get("ignore_case", False):
        texts = [text.lower() for text in texts]
    return float(texts[0] == texts[1])


def compare_config(result: str | None, rules: Rules, **_: Any) -> float:
    """Whether a file is, to the letter, `expected`."""
    return float(bool(result) and _read(str(result)) == rules["expected"])


def compare_answer(result: str | None, rules: Rules, **_: Any) -> float:
    """Whether a text is `expected`."""
    return float(bool(result) and result == rules["expected"])


def file_contains(result: str | None, rules: Rules) -> float:
    """Whether a file holds each of `expected`; one that cannot be read does not."""
    if not result:
        return 0.0
    try:
        text = _read(result)
    except (OSError, UnicodeDecodeError):
        return 0.0
    return float(all(part in text for part in rules["expected"]))


def check_list(result: str | None, rules: Rules) -> float:
    """Whether some line fits each pattern of `expect`, and no line one of `unexpect`."""
    if result is None:
        return 0.0
    with Path(result).open(encoding="utf-8") as file:
        lines = list(file)
    wanted = [re.compile(pattern) for pattern in rules.get("expect", [])]
    banned = [re.compile(pattern) for pattern in rules.get("unexpect", [])]
    found = all(any(pattern.search(line) for line in lines) for pattern in wanted)
    return float(found and not any(p.search(line) for line in lines for p in banned))


def check_csv(result: str | None, rules: Rules) -> float:
    """Whether some row has the fields of each of `expect`, and no row those of an `unexpect`."""
    if result is None:
        return 0.0
    with Path(result).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    wanted = all(any(has_fields(r, row) for row in rows) for r in rules.get("expect", []))
    banned = any(has_fields(r, row) for row in rows for r in rules.get("unexpect", []))
    return float(wanted and not banned)


def has_fields(pattern: Rules, item: Rules) -> bool:
    """Whether an object has all fields of another."""
    return all(key in item and item[key] == value for key, value in pattern.items())


def compare_csv(result: str | None, expected: str | Sequence[str], **options: Any) -> float:
    """Whether a file has the lines of one of the expected ones: `strict`, `ignore_case`."""
    if result is None:
        return 0.0

    def lines(path: str) -> list[str] | None:
        try:
            read = read_lines(path)
        except OSError:
            return None
        if not options.get("strict", True):
            read = [line.strip() for line in read]
        return [line.lower() for line in read] if options.get("ignore_case", False) else read

    found = lines(result)
    among = [expected] if isinstance(expected, str) else expected
    return float(found is not None and any(found == lines(path) for path in among))


def check_line_number(result: str | None, rules: Rules) -> float:
    """Whether as many lines name a time of day as `expected` says."""
    if result is None or not Path(result).is_file():
        return 0.0
    try:
        with Path(result).open(encoding="utf-8") as file:
            count = sum(1 for line in file if _TIME_OF_DAY.search(line))
    except UnicodeDecodeError:
        return 0.0
    return float(count == int(rules["expected"]))


def compare_terminal_and_txt(result: str | None, terminal: str | None) -> float:
    """Whether a file holds what the terminal shows."""
    return float(bool(result) and bool(terminal) and _read(str(result)) == terminal)


def compare_python_pure_text(result: str | None, expected: str | None) -> float:
    """Whether two programs have the same lines: no empty ones, no shebang, tabs as blanks."""
    if not result or not expected:
        return 0.0
    try:
        return float(_program(_read(result)) == _program(_read(expected)))
    except (OSError, UnicodeDecodeError):
        return 0.0


def _program(text: str) -> list[str]:
    lines = text.splitlines()
    heads = ("#!", "# -*- coding:", "# coding:", "# coding=")
    skipped = 0
    while skipped < min(3, len(lines)) and lines[skipped].strip().startswith(heads):
        skipped += 1
    return [line.expandtabs(4).rstrip() for line in lines[skipped:] if line.strip()]


def is_extension_installed(result: str, rules: Rules, **_: Any) -> float:
    """Whether `expected` is in a list of extensions (`type` contain) or is not (not_contain)."""
    if rules["type"] not in {"contain", "not_contain"}:
        raise UngradeableError(f"no type {rules['type']!r}: there are contain and not_contain")
    return float((rules["expected"] in result) is (rules["type"] == "contain"))
