"""What a SQL statement does, as far as its text tells: pure.

Four verbs are taken apart (INSERT, UPDATE, DELETE, and whatever only reads). A statement that is
anything else, or is written in a way that is not understood here, keeps its verb and is not
`plain`; nothing is guessed of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hfr_bench.suites.agentbench.dbbench.tokens import Kind, SqlError, Token, cut

READS = frozenset({"SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "TABLE", "HELP"})
IDLE = frozenset({"BEGIN", "START", "COMMIT", "ROLLBACK", "USE", "SET"})
"""Verbs of a session. Every statement is committed by itself, so that they do nothing here."""
_BEFORE_TABLE = frozenset({"LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE"})
_CONSTANT = frozenset({"NULL", "TRUE", "FALSE"})
_TAIL = ("ORDER", "LIMIT")

_WHOLE = re.compile(r"0|[1-9]\d{0,17}")

Tokens = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement.

    `verb`: its first word in capitals, "" if there is none. `plain`: it was understood to the end.
    `columns`: of an INSERT that names them. `rows`: of an INSERT of constants, one text (None:
    NULL) a value. `sets`: of an UPDATE, column and expression. `where`: its tokens, () without.
    `bounded`: an ORDER BY or a LIMIT picks among the rows.
    """

    verb: str
    text: str
    tokens: Tokens = ()
    plain: bool = False
    table: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    sets: tuple[tuple[str, Tokens], ...] = ()
    where: Tokens = ()
    bounded: bool = False

    @property
    def absolute(self) -> bool:
        """Whether an UPDATE sets constants alone."""
        return bool(self.sets) and all(constant(value) is not UNKNOWN for _, value in self.sets)

    def sql(self, tokens: Sequence[Token]) -> str:
        """The piece of the text that these tokens, in a row, stand for."""
        return self.text[tokens[0].start : tokens[-1].end] if tokens else ""


class Unknown:
    """Stands for a value that is no constant."""


UNKNOWN = Unknown()


def read(sql: str) -> Statement:
    """The statement; one that cannot even be cut into tokens has no verb."""
    try:
        tokens = cut(sql)
    except SqlError:
        return Statement("", sql)
    while tokens and tokens[-1].text == ";" and tokens[-1].kind is Kind.SIGN:
        tokens = tokens[:-1]
    if not tokens or any(t.kind is Kind.SIGN and t.text == ";" for t in tokens):
        return Statement("", sql, tokens)
    verb = _verb(tokens)
    taken = {"INSERT": _insert, "UPDATE": _update, "DELETE": _delete}.get(verb)
    made = None
    if taken is not None:
        try:
            made = taken(Statement(verb, sql, tokens), _Reader(tokens, 1))
        except SqlError:
            made = None
    return made or Statement(verb, sql, tokens, plain=verb in READS)


def _verb(tokens: Tokens) -> str:
    """The first word; of WITH ... and of what is in brackets, the verb of what it stands before."""
    depth = 0
    for token in tokens:
        if token.kind is Kind.SIGN:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        elif tokens[0].word != "WITH" or (
            depth == 0 and token.word in ("SELECT", "INSERT", "UPDATE", "DELETE")
        ):
            return token.word
    return ""


def constant(tokens: Tokens) -> "str | Unknown | None":
    """A constant's text as a table of texts keeps it (None: NULL); `UNKNOWN` if it is none."""
    sign = ""
    if len(tokens) == 2 and tokens[0].text in ("-", "+") and tokens[1].kind is Kind.NUMBER:
        sign, tokens = tokens[0].text.strip("+"), tokens[1:]
    if len(tokens) != 1:
        return UNKNOWN
    token = tokens[0]
    if token.kind in (Kind.STRING, Kind.NUMBER):
        return sign + token.text
    if token.word in _CONSTANT:
        return {"NULL": None, "TRUE": "1", "FALSE": "0"}[token.word]
    return UNKNOWN


class _Reader:
    """Walks over tokens. Every method that does not find what it asks for raises SqlError."""

    def __init__(self, tokens: Tokens, at: int = 0) -> None:
        self._tokens, self._at = tokens, at

    @property
    def over(self) -> bool:
        return self._at >= len(self._tokens)

    def next(self) -> Token:
        if self.over:
            raise SqlError("the statement ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def take(self, *words: str) -> str:
        """The next token if it is one of these words or signs, in capitals; else ""."""
        if not self.over:
            token = self._tokens[self._at]
            said = token.word or (token.text if token.kind is Kind.SIGN else "")
            if said in words:
                self._at += 1
                return said
        return ""

    def need(self, *words: str) -> str:
        found = self.take(*words)
        if not found:
            raise SqlError(f"expected {' or '.join(words)}")
        return found

    def name(self) -> str:
        """A name, without the database's before it."""
        token = self.next()
        while self.take("."):
            token = self.next()
        if token.kind not in (Kind.WORD, Kind.NAME):
            raise SqlError(f"{token.text!r} is no name")
        return token.text

    def until(self, *words: str) -> Tokens:
        """What stands before the first of these outside brackets, or before the end."""
        depth, start = 0, self._at
        while not self.over:
            token = self._tokens[self._at]
            said = token.word or (token.text if token.kind is Kind.SIGN else "")
            if depth == 0 and said in words:
                break
            depth += {"(": 1, ")": -1}.get(said, 0)
            if depth < 0:
                break
            self._at += 1
        return self._tokens[start : self._at]

    def listed(self) -> tuple[Tokens, ...]:
        """(a, b, ...) cut at its commas."""
        self.need("(")
        found = [self.until(",")]
        while self.take(","):
            found.append(self.until(","))
        self.need(")")
        return tuple(found)


def _insert(bare: Statement, reader: _Reader) -> Statement | None:
    while reader.take(*_BEFORE_TABLE):
        pass
    reader.take("INTO")
    table = reader.name()
    columns: tuple[str, ...] = ()
    if not reader.take("VALUES", "VALUE"):
        columns = tuple(_name(one) for one in reader.listed())
        reader.need("VALUES", "VALUE")
    rows = [_row(reader.listed())]
    while reader.take(","):
        rows.append(_row(reader.listed()))
    if not reader.over or (columns and any(len(row) != len(columns) for row in rows)):
        return None
    return Statement(
        bare.verb,
        bare.text,
        bare.tokens,
        plain=True,
        table=table,
        columns=columns,
        rows=tuple(rows),
    )


def _name(tokens: Tokens) -> str:
    if len(tokens) != 1 or tokens[0].kind not in (Kind.WORD, Kind.NAME):
        raise SqlError("not a column's name")
    return tokens[0].text


def _row(values: tuple[Tokens, ...]) -> tuple[str | None, ...]:
    found: list[str | None] = []
    for value in values:
        said = constant(value)
        if isinstance(said, Unknown):
            raise SqlError("a value is no constant")
        if value[-1].kind is Kind.NUMBER and not _WHOLE.fullmatch(value[-1].text):
            raise SqlError("a number that a database may write in another way")
        found.append(said)
    return tuple(found)


def _update(bare: Statement, reader: _Reader) -> Statement | None:
    while reader.take(*_BEFORE_TABLE):
        pass
    table = reader.name()
    reader.need("SET")
    sets = [_set(reader)]
    while reader.take(","):
        sets.append(_set(reader))
    where, bounded = _rest(reader)
    return Statement(
        bare.verb,
        bare.text,
        bare.tokens,
        plain=True,
        table=table,
        sets=tuple(sets),
        where=where,
        bounded=bounded,
    )


def _set(reader: _Reader) -> tuple[str, Tokens]:
    column = reader.name()
    reader.need("=", ":=")
    value = reader.until(",", "WHERE", *_TAIL)
    if not value:
        raise SqlError("no value to set")
    return column, value


def _delete(bare: Statement, reader: _Reader) -> Statement | None:
    while reader.take(*_BEFORE_TABLE):
        pass
    reader.need("FROM")
    table = reader.name()
    where, bounded = _rest(reader)
    return Statement(
        bare.verb, bare.text, bare.tokens, plain=True, table=table, where=where, bounded=bounded
    )


def _rest(reader: _Reader) -> tuple[Tokens, bool]:
    where = reader.until(*_TAIL) if reader.take("WHERE") else ()
    bounded = bool(reader.take(*_TAIL))
    if not bounded and not reader.over:
        raise SqlError("more than is understood")
    return where, bounded
