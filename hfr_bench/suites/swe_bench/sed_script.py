"""What a script of sed does: prints only, or replaces text so that a second run finds nothing.

Reads sed's own little language as far as the two answers need it; anything else is `None`.
"""

from typing import NamedTuple

_PLAIN = frozenset("pPdDqQ=nNgGhHxlFz}")
_BASIC, _EXTENDED = frozenset(".*[]^$"), frozenset(".*[]^$+?(){}|")
_ESCAPABLE = _EXTENDED | {"\\", "/"}


class Step(NamedTuple):
    """A command of a script.

    `name`: its letter; `parts`: of `s`: pattern, replacement, flags; `address`: none, "line"
    (numbers, $, one pattern) or "range" (between patterns).
    """

    name: str
    parts: tuple[str, ...]
    address: str


def prints_only(script: str) -> bool:
    """Whether the script writes no file and runs no program; without -i it is then a read."""
    steps = read(script)
    return steps is not None


def settles(script: str, *, extended: bool) -> bool:
    """Whether editing in place by this script twice leaves what editing once does, for any text.

    True for one plain-text replacement of every occurrence (or of one at the line's beginning)
    whose result cannot make a new occurrence. Without `g` the next run may find a second one.
    """
    steps = read(script)
    if steps is None or len(steps) != 1 or steps[0].name != "s" or steps[0].address == "range":
        return False
    pattern, replacement, flags = steps[0].parts
    new = _plain(replacement, frozenset("&"))
    anchored = pattern.startswith("^")
    old = _plain(pattern.removeprefix("^"), _EXTENDED if extended else _BASIC)
    if old is None or new is None or set(flags) - {"g"}:
        return False
    if anchored:
        return bool(old) and not new.startswith(old) and not old.startswith(new)
    return flags == "g" and disjoint(old, new)


def disjoint(old: str, new: str) -> bool:
    """Whether `new`, put for `old` in any text, never makes part of a new `old`."""
    if not old or not new or old in new or new in old:
        return False
    return not any(
        old[-size:] == new[:size] or old[:size] == new[-size:]
        for size in range(1, min(len(old), len(new)))
    )


def read(script: str) -> tuple[Step, ...] | None:
    """The commands of a script, or None for one that writes, runs or is not followed."""
    reader = _Reader(script)
    try:
        return tuple(reader.steps())
    except (ValueError, IndexError):
        return None


class _Reader:
    """Goes through a script once. Raises ValueError or IndexError where it cannot follow."""

    def __init__(self, script: str) -> None:
        self._text = script
        self._at = 0

    def steps(self) -> list[Step]:
        found: list[Step] = []
        while True:
            self._skip(" \t\n;")
            if self._at >= len(self._text):
                return found
            found.append(self._step())

    def _step(self) -> Step:
        address = self._address()
        self._skip(" \t!")
        name = self._next()
        if name == "{" or name in _PLAIN:
            if name in "qQl":
                self._skip(" 0123456789")
            return self._ended(Step(name, (), "range" if name == "{" else address))
        if name == "s":
            mark = self._next()
            parts = (self._until(mark), self._until(mark), self._flags())
            return self._ended(Step(name, parts, address))
        if name == "y":
            mark = self._next()
            return self._ended(Step(name, (self._until(mark), self._until(mark)), address))
        if name in "aic":  # the rest, to a line end that no backslash takes back
            while self._at < len(self._text) and self._next() != "\n":
                self._at += self._text[self._at - 1] == "\\"
            return Step(name, (), address)
        raise ValueError(name)  # w, W, e, r, b, t, labels, ...

    def _ended(self, step: Step) -> Step:
        self._skip(" \t")
        if step.name not in "{}" and self._at < len(self._text):
            if self._text[self._at] not in ";\n}#":
                raise ValueError(self._text[self._at])
            if self._text[self._at] == "#":
                raise ValueError("#")
        return step

    def _address(self) -> str:
        first = self._one_address()
        if not first or self._peek() != ",":
            return "line" if first else ""
        self._at += 1
        self._skip(" \t+~")
        second = self._one_address()
        return "line" if {first, second} == {"number"} else "range"

    def _one_address(self) -> str:
        mark = self._peek()
        if mark.isdigit() or mark == "$":
            while self._peek().isdigit() or self._peek() in ("$", "~"):
                self._at += 1
            self._skip(" \t")
            return "number"
        if mark not in ("/", "\\"):
            return ""
        self._at += 1
        self._until("/" if mark == "/" else self._next())
        while self._peek() in ("I", "M"):
            self._at += 1
        self._skip(" \t")
        return "pattern"

    def _flags(self) -> str:
        start = self._at
        while self._peek().isalnum():
            if self._peek() in "we":
                raise ValueError("w or e")
            self._at += 1
        return self._text[start : self._at]

    def _until(self, mark: str) -> str:
        """Up to the next bare `mark`; the mark itself escaped is the plain mark."""
        found = ""
        while (sign := self._next()) != mark:
            if sign == "\\":
                after = self._next()
                sign = after if after == mark and mark not in _ESCAPABLE - {"/"} else sign + after
            found += sign
        return found

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        self._at += 1
        return self._text[self._at - 1]

    def _skip(self, signs: str) -> None:
        while self._at < len(self._text) and self._text[self._at] in signs:
            self._at += 1


def _plain(text: str, special: frozenset[str]) -> str | None:
    """The text that a pattern or replacement stands for, if it stands for one text alone."""
    found, signs = "", iter(text)
    for sign in signs:
        if sign == "\\":
            after = next(signs, "")
            if not after or after not in _ESCAPABLE | {"&"}:
                return None
            # an escaped bracket or plus is special in one of sed's two languages: not looked into
            if after in "+?(){}|":
                return None
            found += after
        elif sign in special or sign == "\n":
            return None
        else:
            found += sign
    return found
