"""Whether an answer is the right one: upstream's rule, after its words, pure.

Values are compared as texts once they are cleaned: blanks and quotes at the ends, a percent sign at
the end, commas in numbers go; what stands for nothing (None, null, nan, "") is 0. Two numbers are
one if they differ by no more than 0.01; several are matched in any order. Other lists are sets.

Upstream evaluates an answer that looks like a list as a program. Here it is read as a literal, and
cut at its commas if it is none: the same for every list of constants, and nothing is run.
"""

import ast
import re
from collections.abc import Sequence

_NOTHING = ("none", "null", "undefined", "nan", "inf", "infinity", "-inf", "-infinity", "")
_NEAR = 1e-2
_PARTS = re.compile(r"[\"']")


def right(answer: object, label: Sequence[str]) -> bool:
    """Whether the answer (a list of texts, or one text) is the label's."""
    given, wanted = clean(answer), clean(list(label))
    if len(given) == len(wanted) == 1 and not (_number(given[0]) and _number(wanted[0])):
        return given[0] == wanted[0]
    if all(_number(one) for one in (*given, *wanted)):
        return _all_near(given, wanted)
    return set(given) == set(wanted)


def clean(answer: object) -> list[str]:
    """The answer's values, as they are compared."""
    if answer is None:
        return ["0"]
    if isinstance(answer, str):
        text = answer.strip()
        if text.startswith("[") and text.endswith("]"):
            return _listed(text)
        return [_value(text.strip("'\""))]
    if isinstance(answer, list | tuple):
        return [_value(_bare(one)) for one in answer]
    return [_value(_bare(answer))]


def _listed(text: str) -> list[str]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [_value(part.strip().strip("'\"")) for part in _cut(text[1:-1])]
    if found and all(isinstance(one, tuple) for one in found):  # as a MySQL client prints rows
        found = [one for one in found if len(one) == 1]
    return [_value(_bare(one)) for one in found]


def _cut(text: str) -> list[str]:
    """At the commas outside quotes, quotes left out; empty parts do not count."""
    parts, inside, now = [], False, ""
    for one in text:
        if _PARTS.match(one):
            inside = not inside
        elif one == "," and not inside:
            parts.append(now)
            now = ""
        else:
            now += one
    return [part for part in (*parts, now) if part]


def _bare(value: object) -> str:
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return str(value).strip().strip("'\"")


def _value(text: str) -> str:
    text = text.strip()
    if text.endswith("%"):
        return text[:-1].strip()
    if not (text.startswith("[") or text.endswith("]")):
        text = text.replace(",", "")
    return "0" if text.lower() in _NOTHING else text


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _all_near(given: Sequence[str], wanted: Sequence[str]) -> bool:
    left = list(wanted)
    for one in given:
        near = next((w for w in left if abs(float(one) - float(w)) <= _NEAR), None)
        if near is None:
            return False
        left.remove(near)
    return not left
