"""SQL as MySQL reads it, cut into tokens: pure.

Both kinds of straight quotes hold strings, backticks hold names, a backslash escapes inside
strings. What is cut is not judged: that is `statements`.
"""

import re
from enum import StrEnum
from typing import NamedTuple


class SqlError(ValueError):
    """A text that cannot be cut into tokens; the message says why."""


class Kind(StrEnum):
    """What a token is."""

    WORD = "word"
    NAME = "name"  # in backticks
    STRING = "string"
    NUMBER = "number"
    SIGN = "sign"


class Token(NamedTuple):
    """`text`: what it means (no quotes, escapes resolved), `start`, `end`: where it stands."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """A bare word in capitals; "" for anything else."""
        return self.text.upper() if self.kind is Kind.WORD else ""


_SPACE = re.compile(r"(?:\s+|#[^\n]*|--(?=\s|$)[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w)")
_WORD = re.compile(r"[\w$@]+")
_SIGN = re.compile(r"<=>|<>|!=|<=|>=|\|\||&&|:=|.", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a"}
_KEPT = ("%", "_")  # of these MySQL keeps the backslash, since LIKE needs it


def cut(sql: str) -> tuple[Token, ...]:
    """The tokens, comments left out. Raises SqlError for a quote that is not closed."""
    found: list[Token] = []
    at = 0
    while at < len(sql):
        if space := _SPACE.match(sql, at):
            at = space.end()
            continue
        token = _next(sql, at)
        found.append(token)
        at = token.end
    return tuple(found)


def _next(sql: str, at: int) -> Token:
    if sql[at] in "'\"`":
        return _quoted(sql, at)
    if number := _NUMBER.match(sql, at):
        return Token(Kind.NUMBER, number[0], at, number.end())
    if word := _WORD.match(sql, at):
        return Token(Kind.WORD, word[0], at, word.end())
    sign = _SIGN.match(sql, at)
    assert sign is not None
    return Token(Kind.SIGN, sign[0], at, sign.end())


def _quoted(sql: str, start: int) -> Token:
    quote, said, at = sql[start], [], start + 1
    while at < len(sql):
        one = sql[at]
        if one == "\\" and quote != "`" and at + 1 < len(sql):
            escaped = sql[at + 1]
            said.append(f"\\{escaped}" if escaped in _KEPT else _ESCAPES.get(escaped, escaped))
            at += 2
        elif one == quote and sql[at + 1 : at + 2] == quote:
            said.append(quote)
            at += 2
        elif one == quote:
            kind = Kind.NAME if quote == "`" else Kind.STRING
            return Token(kind, "".join(said), start, at + 1)
        else:
            said.append(one)
            at += 1
    raise SqlError(f"a quote {quote} at {start} is not closed")
