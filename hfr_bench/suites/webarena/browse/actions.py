"""What an agent can do in a browser: WebArena's actions, as a call's arguments or as one line.

An element is named by its id in the page's tree, or by role and name (`nth` where there are more).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class BadActionError(ValueError):
    """An action that is none: an unknown verb, or arguments that it does not take."""


class Verb(StrEnum):
    """WebArena's actions, and `select` (its `select_option`)."""

    GOTO = "goto"
    CLICK = "click"
    TYPE = "type"
    PRESS = "press"
    SELECT = "select"
    HOVER = "hover"
    SCROLL = "scroll"
    GO_BACK = "go_back"
    GO_FORWARD = "go_forward"
    NEW_TAB = "new_tab"
    TAB_FOCUS = "tab_focus"
    CLOSE_TAB = "close_tab"
    STOP = "stop"


TEXT = {
    Verb.GOTO: "url",
    Verb.TYPE: "text",
    Verb.PRESS: "key",
    Verb.SELECT: "option",
    Verb.SCROLL: "direction",
    Verb.NEW_TAB: "url",
    Verb.STOP: "answer",
}
"""Verbs that take a text, and the name of that argument."""

OPTIONAL = frozenset({Verb.NEW_TAB, Verb.STOP})
"""Those that may go without it."""

AIMED = frozenset({Verb.CLICK, Verb.TYPE, Verb.SELECT, Verb.HOVER})
"""Verbs that need an element."""

DIRECTIONS = ("up", "down")

_LINE = re.compile(r"\s*([a-z_]+)\s*((?:\[.*\]\s*)?)", re.DOTALL)
_BLOCKS = re.compile(r"\]\s*\[")


@dataclass(frozen=True, slots=True)
class Action:
    """One action. `element`: an id of the tree; 0 = the `nth` (from 1) with that role and name.

    `text`: what `TEXT` says. `enter`: press Enter after typing. `tab`: counts from 0.
    """

    verb: Verb
    element: int = 0
    role: str = ""
    name: str = ""
    nth: int = 1
    text: str = ""
    enter: bool = False
    tab: int = 0

    @property
    def aim(self) -> str:
        """The element, as messages name it."""
        which = f" (number {self.nth})" if self.nth > 1 else ""
        return f"[{self.element}]" if self.element else f"{self.role} {self.name!r}{which}"


def action_of(verb: str, arguments: Mapping[str, Any]) -> Action:
    """An action from a call's arguments. Raises BadActionError, saying what is taken."""
    if verb not in set(Verb):
        raise BadActionError(f"no action {verb!r}; there are: {', '.join(Verb)}")
    kind = Verb(verb)
    taken = _taken(kind)
    if unknown := sorted(set(arguments) - set(taken)):
        takes = ", ".join(taken) or "no arguments"
        raise BadActionError(f"{verb}: no argument {unknown[0]!r}; it takes {takes}")
    given: dict[str, Any] = {}
    for name, value in arguments.items():
        wanted = taken[name]
        if type(value) is not wanted:
            raise BadActionError(f"{verb}: {name} must be {_A[wanted]}, not {value!r}")
        given["text" if name == TEXT.get(kind) else name] = value
    return _checked(Action(kind, **given))


_A: dict[type, str] = {str: "a text", int: "a whole number", bool: "true or false"}


def _taken(verb: Verb) -> dict[str, type]:
    found: dict[str, type] = {TEXT[verb]: str} if verb in TEXT else {}
    if verb in AIMED:
        found |= {"element": int, "role": str, "name": str, "nth": int}
    if verb is Verb.TYPE:
        found["enter"] = bool
    if verb is Verb.TAB_FOCUS:
        found["tab"] = int
    return found


def _checked(action: Action) -> Action:
    verb = action.verb
    if verb in AIMED and (action.element < 0 or not (action.element or action.role)):
        raise BadActionError(f"{verb}: name an element, by its id or by role and name")
    if action.nth < 1 or action.tab < 0:
        raise BadActionError(f"{verb}: nth counts from 1, tab from 0")
    if verb in TEXT and not action.text and verb not in OPTIONAL and verb is not Verb.TYPE:
        raise BadActionError(f"{verb}: {TEXT[verb]} is missing")
    if verb is Verb.SCROLL and action.text not in DIRECTIONS:
        raise BadActionError(f"{verb}: direction is one of: {', '.join(DIRECTIONS)}")
    return action


def parse(line: str) -> Action:
    """An action as WebArena's agents write it: `click [12]`, `type [3] [some words] [1]`.

    In `type`, the last block says whether Enter is pressed (1, the default) or not (0).
    Raises BadActionError.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        raise BadActionError(f"not an action: {line!r}; write `verb [argument] [argument]`")
    verb, rest = found[1], found[2].strip()
    inner = rest[1:-1] if rest else ""
    if verb == Verb.TYPE:
        head, _, tail = (part.strip() for part in _split(inner, line))
        enter = not tail.endswith("[0")
        text = re.sub(r"\]\s*\[[01]\Z", "", tail)
        return action_of(verb, {"element": _number(head, line), "text": text, "enter": enter})
    if verb == Verb.SELECT:
        head, _, option = _split(inner, line)
        return action_of(verb, {"element": _number(head, line), "option": option})
    if verb in (Verb.CLICK, Verb.HOVER):
        return action_of(verb, {"element": _number(inner, line)})
    if verb == Verb.TAB_FOCUS:
        return action_of(verb, {"tab": _number(inner, line)})
    if verb in set(Verb) and Verb(verb) in TEXT:
        return action_of(verb, {TEXT[Verb(verb)]: inner} if inner else {})
    return action_of(verb, {} if not inner else {"argument": inner})


def _split(inner: str, line: str) -> tuple[str, str, str]:
    cut = _BLOCKS.search(inner)
    if cut is None:
        raise BadActionError(f"{line!r}: it takes two arguments, `[element] [text]`")
    return inner[: cut.start()], cut[0], inner[cut.end() :]


def _number(text: str, line: str) -> int:
    if not text.strip().isdecimal():
        raise BadActionError(f"{line!r}: {text!r} is no number")
    return int(text)
